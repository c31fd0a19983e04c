"""What a hidden token is replaced by: [MASK], a random token, or nothing.

Source: Devlin et al. 2019 (BERT), section 3.1: 80/10/10 per token; SpanBERT, section 3.1: once per span, so that all
tokens of a span are replaced alike (spec FAMILY sections 0 and 1.3 step 8).
Letters: T tokens in the pack, S sequences, V vocabulary.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import mix, uniform


@part("replacement")
class Replacement:
    """Replace hidden tokens by [MASK] with chance `mask`, by random tokens with `random`, leave them with `keep`.

    The chances are drawn once per merged span or once per token (`unit`); a random token is always drawn for each
    token anew, from the corpus' own frequencies or from all tokens alike (`random_law`), and is never a special.
    """

    mask: float = 0.8
    random: float = 0.1
    keep: float = 0.1
    unit: Literal["span", "token"] = "span"
    random_law: Literal["unigram", "uniform"] = "unigram"

    def __post_init__(self) -> None:
        shares = (self.mask, self.random, self.keep)
        if min(shares) < 0.0 or abs(sum(shares) - 1.0) > 1e-9:
            raise ConfigError(
                f"replacement.mask, random and keep must be 0 or more and add up to 1, got {shares}; "
                "BERT and SpanBERT take 0.8, 0.1, 0.1."
            )

    def random_ids(self, vocabulary: Vocabulary) -> AliasTable:
        """Return the law of random tokens over the V ids, specials left out. Build it once a run.

        Raises: ConfigError where the law needs counts and the vocabulary has none.
        """
        if self.random_law == "uniform":
            weights_V = np.ones(vocabulary.size)
        else:
            weights_V = np.array(vocabulary.unigram_counts, dtype=np.float64)
        weights_V[vocabulary.is_special] = 0.0
        if not weights_V.any():
            raise ConfigError(
                f"replacement.random_law='{self.random_law}' needs a token that is not special and was counted; this "
                "vocabulary has none. Take the counts from a prepared store, or set random_law='uniform'."
            )
        return AliasTable.from_weights(weights_V)

    def apply(
        self,
        pack: Pack,
        spans: Spans,
        keys: np.ndarray,
        vocabulary: Vocabulary,
        random_ids: AliasTable | None = None,
    ) -> np.ndarray:
        """Return input_ids [T] with the spans replaced: a new array, the pack's own ids stay as they are.

        `keys` uint64 [S] is one key a sequence; `random_ids` saves building the table of `random_ids()` again.
        """
        table = self.random_ids(vocabulary) if random_ids is None else random_ids
        return _replace(
            pack.input_ids,
            pack.borders,
            spans.sequence,
            spans.start,
            spans.end,
            keys,
            vocabulary.mask_id,
            float(self.mask),
            float(self.mask + self.random),
            self.unit == "span",
            table.value,
            table.other,
            table.threshold,
        )


ALL_MASKED = Replacement(mask=1.0, random=0.0, keep=0.0)
"""For measuring: a hidden token that is left as it is would be scored for copying."""


@njit
def _replace(
    input_ids_T, borders, sequence_M, start_M, end_M, keys_S, mask_id, mask_below, random_below, by_span,
    value_K, other_K, threshold_K,
):  # fmt: skip
    replaced_T = input_ids_T.copy()
    for m in range(len(start_M)):
        s = sequence_M[m]
        first = borders[s]
        place = np.float64(0.0)
        for t in range(start_M[m], end_M[m]):
            # counters are places inside the sequence, two each, so that batch-mates change nothing
            counter = 2 * (t - first)
            if t == start_M[m] or not by_span:
                place = uniform(keys_S[s], counter)
            if place < mask_below:
                replaced_T[t] = mask_id
            elif place < random_below:
                replaced_T[t] = draw(value_K, other_K, threshold_K, mix(keys_S[s], counter + 1))
    return replaced_T
