"""One token in place of a whole span that recurs: a question to which the occurrence that stays is the answer.

Source: Ram et al. 2021 (Splinter), section 3.2: each masked span is replaced by a single [QUESTION] token.
Letters: T tokens in the pack, S sequences, M spans.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.merge import some_spans
from spanwise.pretraining.masking.replacement import ALL_MASKED, Replacement
from spanwise.pretraining.packs import Hidden, Pack, Spans


@part("question_tokens")
class QuestionTokens:
    """Put one [QUESTION] in the place of every span of a group; the occurrence that the masking kept stays as it is.

    What follows a question moves up, so sequences get shorter and nothing tells how long the span was; or it keeps its
    position (`following="stays"`), as in Splinter. The other pieces of the span are in no pack either way. Spans
    without a group are replaced by `others`, and their tokens can be guessed beside the questions; without `others` the
    masking must give groups alone.

    Differs: Splinter leaves the other pieces in the sequence as [PAD] outside attention, which costs time and changes
    nothing else.
    """

    roles: ClassVar[tuple[str, ...]] = ("question",)

    following: Literal["moves_up", "stays"] = "moves_up"
    others: Replacement | None = None

    @property
    def needs(self) -> frozenset[str]:
        """The words it asks of a masking: groups, and spans without a group where it has a replacement for these."""
        return frozenset({"groups"} | ({"lone_spans"} if self.others else set()))

    @property
    def gives(self) -> frozenset[str]:
        """Questions, and hidden tokens where it has a replacement for spans without a group."""
        return frozenset({"questions"} | ({"spans"} if self.others else set()))

    @property
    def keeps_positions(self) -> bool:
        """True where the tokens after a question keep their positions."""
        return self.following == "stays"

    def measured(self) -> QuestionTokens:
        """Return what a model is measured with: every other hidden token is shown as [MASK]."""
        return replace(self, others=ALL_MASKED if self.others else None)

    def random_ids(self, vocabulary: Vocabulary) -> AliasTable | None:
        """Return the law of random tokens in spans without a group. Raises: ConfigError as `Replacement.random_ids`."""
        return self.others.random_ids(vocabulary) if self.others else None

    def apply(
        self,
        pack: Pack,
        spans: Spans,
        keys: np.ndarray,
        vocabulary: Vocabulary,
        random_ids: AliasTable | None = None,
        hidden: Hidden | None = None,
    ) -> np.ndarray:
        """Return input_ids [T] with a question at the first token of every span of a group; keys uint64 [S].

        Raises: ConfigError for a vocabulary without the question piece.
        """
        if vocabulary.question_id < 0:
            raise ConfigError(
                "replacement QuestionTokens writes [QUESTION] and this vocabulary has no such piece; learn it with "
                "`--roles question`."
            )
        grouped_M = _grouped(spans)
        replaced_T = pack.input_ids.copy()
        if self.others is not None:
            replaced_T = self.others.apply(pack, some_spans(spans, ~grouped_M), keys, vocabulary, random_ids)
        replaced_T[spans.start[grouped_M]] = vocabulary.question_id
        return replaced_T

    def shortened(self, spans: Spans) -> np.ndarray:
        """Return which spans become one token, bool [M]: those of groups."""
        return _grouped(spans)


def _grouped(spans: Spans) -> np.ndarray:
    """Return which spans belong to a group, bool [M]."""
    return np.zeros(len(spans.start), dtype=bool) if spans.group is None else spans.group >= 0
