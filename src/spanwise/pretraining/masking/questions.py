"""One token in place of a whole span that recurs: a question to which the occurrence that stays is the answer.

Source: Ram et al. 2021 (Splinter), section 3.2: each masked span is replaced by a single [QUESTION] token.
Letters: T tokens in the pack, T' of them left, S sequences, M spans, N hidden tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.base import ReplacementScheme, ShorteningReplacement
from spanwise.pretraining.masking.merge import some_spans
from spanwise.pretraining.masking.replacement import ALL_MASKED, Replacement
from spanwise.pretraining.packs import Hidden, Pack, Spans


@part("question_tokens")
class QuestionTokens:
    """Put one [QUESTION] in the place of every span of a group; the occurrence that the masking kept stays as it is.

    What follows a question moves up, so sequences get shorter and nothing tells how long the span was: Splinter's code
    too counts positions over what attention sees. With `following="stays"` it keeps its position instead. The other
    pieces of the span are in no pack either way. Spans without a group are replaced by `others`, and their tokens can
    be guessed beside the questions; without `others` the masking must give groups alone.

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
        self, pack: Pack, spans: Spans, keys: np.ndarray, vocabulary: Vocabulary, law: AliasTable | None = None
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
            replaced_T = self.others.apply(pack, some_spans(spans, ~grouped_M), keys, vocabulary, law)
        replaced_T[spans.start[grouped_M]] = vocabulary.question_id
        return replaced_T

    def shortened(self, spans: Spans) -> np.ndarray:
        """Return which spans become one token, bool [M]: those of groups."""
        return _grouped(spans)


def _grouped(spans: Spans) -> np.ndarray:
    """Return which spans belong to a group, bool [M]."""
    return np.zeros(len(spans.start), dtype=bool) if spans.group is None else spans.group >= 0


def shorten(
    pack: Pack, spans: Spans, hidden: Hidden, input_ids: np.ndarray, is_short_M: np.ndarray, *, stays: bool
) -> tuple[Pack, Spans, Hidden, np.ndarray]:
    """Return pack, spans, hidden tokens and input_ids [T'] where of the spans `is_short_M` bool [M] one token is left.

    Such a span is no hidden stretch any more: its token is text like any other, which no objective guesses. It is in
    `Pack.questions`, with its group and what was kept of that; `spans` and `hidden` are the others. With `stays` every
    token keeps its position, else what follows moves up.
    """
    first_Q = spans.start[is_short_M]
    steps_T = np.zeros(len(input_ids) + 1, dtype=np.int64)
    np.add.at(steps_T, first_Q + 1, 1)
    np.add.at(steps_T, spans.end[is_short_M], -1)
    is_left_T = np.cumsum(steps_T)[:-1] == 0
    tokens = np.flatnonzero(is_left_T)
    new_T = np.zeros(len(input_ids) + 1, dtype=np.int64)  # how many tokens are left before each place
    np.cumsum(is_left_T, out=new_T[1:])
    ids_T, maskable_T = pack.input_ids.copy(), pack.maskable.copy()
    ids_T[first_Q], maskable_T[first_Q] = input_ids[first_Q], False
    shorter = replace(
        pack,
        input_ids=ids_T[tokens],
        token_type_ids=pack.token_type_ids[tokens],
        borders=new_T[pack.borders],
        maskable=maskable_T[tokens],
        starts_word=(pack.starts_word & maskable_T)[tokens],
        side={name: array[tokens] for name, array in pack.side.items()},
        positions=tokens - np.repeat(pack.borders[:-1], np.diff(new_T[pack.borders])) if stays else None,
    )
    kept = None if spans.kept is None else np.where(spans.kept < 0, -1, new_T[spans.kept])
    moved = replace(spans, start=new_T[spans.start], end=new_T[spans.end], kept=kept)
    is_guessed_N = ~is_short_M[hidden.span]
    number_M = np.cumsum(~is_short_M) - 1
    guessed = Hidden(
        position=new_T[hidden.position[is_guessed_N]],
        span=number_M[hidden.span[is_guessed_N]],
        sequence=hidden.sequence[is_guessed_N],
        original_ids=hidden.original_ids[is_guessed_N],
    )
    shorter = replace(shorter, questions=some_spans(moved, is_short_M))
    return shorter, some_spans(moved, ~is_short_M), guessed, input_ids[tokens]


def shortened_ranges(replacement: ReplacementScheme, spans: Spans) -> list[tuple[int, int]]:
    """Return the half-open ranges of the spans of which a replacement leaves one token."""
    if not isinstance(replacement, ShorteningReplacement):
        return []
    is_short_M = replacement.shortened(spans)
    return list(zip(spans.start[is_short_M].tolist(), spans.end[is_short_M].tolist(), strict=True))
