"""Pictures of masks: a strip of sequences with their hidden stretches, and the lengths of spans against their law.

Letters: S sequences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.reporting.spans import NUM_COLOURS

MAX_ROWS = 16
MAX_COLUMNS = 128


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """One hidden stretch of one row, in cells."""

    row: int
    start: int
    length: int
    colour: int


@dataclass(frozen=True, kw_only=True)
class MaskPicture:
    """Rows are sequences, cells are tokens; ready for the template."""

    title: str
    note: str
    lengths: tuple[int, ...]  # cells of each row
    columns: int
    stretches: tuple[Stretch, ...]


def draw_masks(
    title: str, lengths: Sequence[int], spans: Sequence[tuple[int, int, int]], *, note: str = ""
) -> MaskPicture | None:
    """Draw the first rows of S sequences; spans are (sequence, start, end) in tokens of their sequence, half-open.

    Rows are cut at `MAX_COLUMNS` tokens. None where there is no sequence.
    """
    if not len(lengths):
        return None
    shown = [min(int(length), MAX_COLUMNS) for length in lengths[:MAX_ROWS]]
    stretches = []
    for number, (row, start, end) in enumerate(sorted(spans)):
        if row < len(shown) and start < shown[row]:
            colour = number % NUM_COLOURS
            stretches.append(Stretch(row=row, start=start, length=min(end, shown[row]) - start, colour=colour))
    return MaskPicture(title=title, note=note, lengths=tuple(shown), columns=max(shown), stretches=tuple(stretches))


def length_shares(counts: Mapping[int, int], longest: int = 12) -> list[tuple[str, float]]:
    """Return the share of spans of 1, 2, ... tokens from {tokens: spans}; `longest` and more are one group."""
    total = sum(counts.values())
    if not total:
        return []
    shares = [0.0] * longest
    for size, count in counts.items():
        shares[min(size, longest) - 1] += count / total
    names = [str(n) for n in range(1, longest)] + [f"{longest}+"]
    return list(zip(names, shares, strict=True))
