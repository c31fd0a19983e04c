"""The interfaces of masking and replacement, and the budget that all of them keep.

Letters: T tokens in the pack, S sequences, n maskable tokens of one sequence.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from spanwise.config import Part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.merge import spans_of, word_starts
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit


class MaskingScheme(Part, Protocol):
    """Chooses what is hidden; what is then put there is the replacement's business.

    A scheme that reads side arrays of the store names them in a class attribute `side_arrays: tuple[str, ...]` and
    finds them in `pack.side`. One that needs the corpus' counts has `for_vocabulary(vocabulary) -> MaskingScheme`,
    which is called once per run. One whose `ratio` counts spans rather than tokens has `counts_spans = True`.
    """

    @property
    def ratio(self) -> float: ...

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; sequence s is decided by keys[s] (uint64 [S]) and its own tokens alone.

        With `capacity` no more than so many tokens are hidden in the pack: every sequence keeps its budget, what
        goes beyond it (the rest of a last word) is cut where room is short.
        """
        ...


class ReplacementScheme(Part, Protocol):
    """Puts something in the place of what a masking chose.

    One that writes a special token of its own names its role in a class attribute `roles: tuple[str, ...]`; one that
    asks more of the masking than hidden spans has `needs`, one that does not leave hidden tokens at their places has
    `gives` (words of pretraining/needs.py).
    """

    def random_ids(self, vocabulary: Vocabulary) -> AliasTable | None:
        """Return the law of random tokens, which is built once per run."""
        ...

    def apply(
        self, pack: Pack, spans: Spans, keys: np.ndarray, vocabulary: Vocabulary, law: AliasTable | None = None
    ) -> np.ndarray:
        """Return input_ids [T] with the spans replaced, a new array; sequence s is decided by keys[s] (uint64 [S]).

        `law` is what `random_ids` returned; None: it is built again.
        """
        ...


@runtime_checkable
class ShorteningReplacement(ReplacementScheme, Protocol):
    """A replacement that leaves one token of some spans: what `apply` wrote at their first."""

    @property
    def keeps_positions(self) -> bool:
        """True where what follows such a span keeps its position, false where it moves up."""
        ...

    def shortened(self, spans: Spans) -> np.ndarray:
        """Return which spans become one token, bool [M]."""
        ...

    def measured(self) -> ReplacementScheme:
        """Return what a model is measured with: its hidden tokens are all shown as [MASK]."""
        ...


Found = TypeVar("Found")

MEMBERS = ("ratio", "select")
"""The members that every masking must have."""
HIDES = frozenset({"spans", "lone_spans"})
"""What a masking gives that says nothing else: hidden spans, and some of them belong to no group."""
LEAVES = frozenset({"spans"})
"""What a replacement gives that says nothing else: hidden tokens that can be guessed at their places."""


def given_by(masking: MaskingScheme) -> frozenset[str]:
    """Return the words of pretraining/needs.py that a masking gives; one of a user's own need not say any."""
    return getattr(masking, "gives", HIDES)


def left_by(replacement: ReplacementScheme) -> frozenset[str]:
    """Return the words of pretraining/needs.py that a replacement gives; one of a user's own need not say any."""
    return getattr(replacement, "gives", LEAVES)


def bound(masking: MaskingScheme, vocabulary: Vocabulary) -> MaskingScheme:
    """Return the scheme as it works with this vocabulary: most need nothing of it, and come back as they are."""
    bind = getattr(masking, "for_vocabulary", None)
    return masking if bind is None else bind(vocabulary)


def check_masking(name: str, scheme: object) -> None:
    """Refuse a part of a masking that is none itself. Raises: ConfigError that begins with its field `name`."""
    lacking = [member for member in MEMBERS if not hasattr(scheme, member)]
    if lacking:
        raise ConfigError(
            f"masking.{name} is {scheme!r}, which is no masking: it has no {' and no '.join(lacking)}; a masking has "
            f"{', '.join(MEMBERS)}, as examples/my_parts.py shows."
        )


def side_arrays_of(schemes: Iterable[MaskingScheme]) -> tuple[str, ...]:
    """Return the names of the side arrays that any of several maskings reads, each once."""
    return tuple(dict.fromkeys(name for scheme in schemes for name in getattr(scheme, "side_arrays", ())))


def checked_ratio(ratio: float) -> Fraction:
    """Return the ratio as the exact decimal that was written, so that 0.1 of 30 is 3 and not 4.

    Raises: ConfigError outside 0 to 1.
    """
    if not 0.0 <= ratio <= 1.0:
        raise ConfigError(f"masking.ratio must be from 0 to 1, got {ratio}.")
    return Fraction(str(float(ratio))).limit_denominator(10**9)


def budgets(ratio: float, num_maskable: np.ndarray) -> np.ndarray:
    """Return how many tokens each sequence must hide: ceil(ratio * n), int64 like num_maskable [S].

    Source: SpanBERT's released code (n = 510 at 0.15 gives 77; n = 1 gives 1, n = 0 gives 0).
    """
    share = checked_ratio(ratio)
    return -(-np.asarray(num_maskable, dtype=np.int64) * share.numerator // share.denominator)


def least_room(masking: MaskingScheme, num_maskable: np.ndarray) -> np.ndarray:
    """Return how much of a capacity each sequence must be given, int64 like num_maskable [S].

    That is the budget of its `ratio`; a masking that is made of others has a method `least_room(num_maskable)`.
    """
    own = getattr(masking, "least_room", None)
    return budgets(masking.ratio, num_maskable) if own is None else own(num_maskable)


def counts_spans(masking: MaskingScheme) -> bool:
    """Return whether the `ratio` of a masking counts spans, which have several tokens, rather than tokens."""
    return getattr(masking, "counts_spans", False)


def num_maskable(pack: Pack) -> np.ndarray:
    """Return how many tokens of each sequence may be hidden, int64 [S]."""
    return _count(pack.maskable.view(np.uint8), pack.borders)


@njit
def _count(ones_T, borders):
    counts_S = np.zeros(len(borders) - 1, dtype=np.int64)
    for s in range(len(counts_S)):
        for one in ones_T[borders[s] : borders[s + 1]]:  # bytes are added many at a time, truth values one by one
            counts_S[s] += one
    return counts_S


class CapacityError(ConfigError):
    """The budgets of a pack alone are more than it may hide."""


def checked_capacity(capacity: int | None, budgets_S: np.ndarray) -> int:
    """Return the capacity in targets, without one the largest integer.

    Raises: CapacityError where the budgets alone pass it.
    """
    if capacity is None:
        return np.iinfo(np.int64).max
    if capacity < (total := int(budgets_S.sum())):
        raise CapacityError(f"a pack of {total} targets does not fit max_targets={capacity}; raise max_targets.")
    return capacity


def mask_by(
    loop: Callable[..., np.ndarray], pack: Pack, keys: np.ndarray, ratio: float, capacity: int | None, *options: object
) -> Spans:
    """Return the spans that a compiled loop marks in a pack: `marked_by` where the loop returns the marks alone."""
    return spans_of(marked_by(loop, pack, keys, ratio, capacity, *options), pack.borders)


def marked_by(
    loop: Callable[..., Found], pack: Pack, keys: np.ndarray, ratio: float, capacity: int | None, *options: object
) -> Found:
    """Return what a compiled loop finds in a pack: the marks int32 [T] that `spans_of` reads, or more.

    The loop is called as `loop(borders [S+1], maskable [T], words [T], keys [S], budgets [S], capacity, *options)`.
    Raises: CapacityError where the budgets do not fit the capacity.
    """
    budgets_S = budgets(ratio, num_maskable(pack))
    words_T = word_starts(pack.borders, pack.maskable, pack.starts_word)
    return loop(pack.borders, pack.maskable, words_T, keys, budgets_S, checked_capacity(capacity, budgets_S), *options)
