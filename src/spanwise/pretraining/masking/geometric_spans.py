"""SpanBERT's masking: runs of whole words whose length follows a truncated geometric law.

Source: Joshi et al. 2020 (SpanBERT), section 3.1; released code.
Letters: T tokens in the pack, S sequences, W words and n maskable tokens of one sequence, K lengths.
"""

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Chance, Share, Words
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import lengths as laws
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.rounds import Rounds
from spanwise.pretraining.packs import Pack, Spans

_DEFAULT_P = 0.2


@part("geometric_spans")
class GeometricSpans:
    """Hide runs of whole words until the budget ceil(ratio * n) of a sequence is reached.

    A round draws a length and an anchor. An anchor that is hidden already voids the round, length included. Else the
    word of the anchor and the words after it are hidden, up to the drawn length, the end of the sequence or the
    budget. Words that are hidden already count for the length and not for the budget.

    Differs: the paper draws word starts and keeps words whole, which is the default here; the released code draws
    tokens (so long words start more spans) and cuts the last span where the budget ends. `start="tokens"` and
    `end="budget"` give that behaviour.
    """

    p: Chance = _DEFAULT_P  # chance that a span ends after each word
    min_words: Words = 1
    max_words: Words = 10  # longest drawn span, in words, not word pieces
    ratio: Share = 0.15  # share of a sequence's maskable tokens
    start: Literal["words", "tokens"] = "words"  # every word alike, or every token and back to its word
    end: Literal["words", "budget"] = "words"  # finish the last word (overshoot), or stop at the budget inside it
    lengths: Literal["geometric", "uniform", "poisson", "explicit"] = "geometric"
    mean_words: Annotated[float, Field(gt=0, le=1000)] | None = None  # of lengths="poisson"
    probabilities: tuple[Share, ...] | None = None  # of lengths="explicit": one a length

    def __post_init__(self) -> None:
        if self.min_words > self.max_words:
            raise ConfigError(
                f"masking.min_words and max_words must satisfy min_words <= max_words, "
                f"got {self.min_words} and {self.max_words}."
            )
        owners = {"p": ("geometric", self.p != _DEFAULT_P), "mean_words": ("poisson", self.mean_words is not None)}
        owners["probabilities"] = ("explicit", self.probabilities is not None)
        for name, (law, given) in owners.items():
            if given and self.lengths != law:
                raise ConfigError(
                    f"masking.{name} belongs to lengths='{law}', but lengths is '{self.lengths}'; "
                    f"set lengths='{law}' or leave {name} out."
                )
            if name != "p" and not given and self.lengths == law:
                raise ConfigError(f"masking.lengths='{law}' needs masking.{name}.")
        _ = self.length_probabilities  # raises here, not at the first batch

    @cached_property
    def length_probabilities(self) -> np.ndarray:
        """Probabilities of the lengths min_words to max_words, float64 [K]."""
        num_lengths = self.max_words - self.min_words + 1
        if self.lengths == "geometric":
            return laws.geometric(self.p, num_lengths)
        if self.mean_words is not None:  # lengths="poisson", as checked above
            return laws.poisson(self.mean_words, self.min_words, self.max_words)
        if self.probabilities is not None:  # lengths="explicit"
            return laws.explicit(self.probabilities, num_lengths)
        return laws.uniform(num_lengths)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        return self._rounds.select(pack, keys, capacity)

    @cached_property
    def _rounds(self) -> Rounds:
        law = AliasTable.from_weights(self.length_probabilities)
        return Rounds(ratio=self.ratio, lengths=law, min_words=self.min_words, anchors=self.start, end=self.end)
