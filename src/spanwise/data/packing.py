"""Cut rows, in the order they are visited, into packs.

A pack has up to three capacities: tokens, sequences and targets. It closes at the first one the next row would
pass. One compiled pass serves a whole epoch, and packing is a pure function of the lengths. Rows keep their places
(`pack_boundaries`), unless packs are to be full (`full_packs`): a row that fits is then taken from a little further on.
"""

import numpy as np

from spanwise.errors import ConfigError
from spanwise.runtime.compiled import njit

_NO_LIMIT = np.iinfo(np.int64).max
_AHEAD = 256  # rows that are looked at for one that still fits
_LAST_ROWS = 3  # of a pack, which are chosen together so that they fill it


@njit
def _boundaries(lengths_n, targets_n, max_tokens, max_sequences, max_targets):
    borders = np.empty(len(lengths_n) + 1, dtype=np.int64)
    borders[0] = 0
    num_packs = 0
    tokens, rows, targets = 0, 0, 0
    for i in range(len(lengths_n)):
        targets_i = targets_n[i] if len(targets_n) else 0
        fits = tokens + lengths_n[i] <= max_tokens and rows + 1 <= max_sequences
        if rows and not (fits and targets + targets_i <= max_targets):
            num_packs += 1
            borders[num_packs] = i
            tokens, rows, targets = 0, 0, 0
        tokens += lengths_n[i]
        targets += targets_i
        rows += 1
    if rows:
        num_packs += 1
        borders[num_packs] = len(lengths_n)
    return borders[: num_packs + 1].copy()


def pack_boundaries(
    lengths: np.ndarray,
    max_tokens: int,
    max_sequences: int | None = None,
    *,
    num_targets: np.ndarray | None = None,
    max_targets: int | None = None,
) -> np.ndarray:
    """Return where each pack begins and ends: int64 [p+1], pack k holds rows `[border[k], border[k+1])`.

    `lengths` [n] are the rows' tokens, specials included, in visiting order; `num_targets` [n] the most targets a
    row can bring.

    Raises: ConfigError where one row alone passes a capacity.
    """
    return _boundaries(*_checked(lengths, max_tokens, max_sequences, num_targets, max_targets))


def full_packs(
    lengths: np.ndarray,
    max_tokens: int,
    max_sequences: int | None = None,
    *,
    num_targets: np.ndarray | None = None,
    max_targets: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return another order of the rows, int64 [n], and where packs of rows in that order begin and end, int64 [p+1].

    Every row has one place. What a pack has no room for begins the next one, so no row falls back by more than a pack.
    Arguments and errors are those of `pack_boundaries`.
    """
    order_n, borders = _full_packs(*_checked(lengths, max_tokens, max_sequences, num_targets, max_targets))
    return order_n, borders


@njit
def _full_packs(lengths_n, targets_n, max_tokens, max_sequences, max_targets):
    n = len(lengths_n)
    order_n, borders = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    is_taken_n = np.zeros(n, dtype=np.bool_)
    num_packs, num_taken, first = 0, 0, 0
    longest = 0
    for length in lengths_n:
        longest = max(longest, length)
    while num_taken < n:
        tokens, rows, targets = 0, 0, 0
        in_order = True
        while rows < max_sequences:
            while first < n and is_taken_n[first]:
                first += 1
            last = min(first + _AHEAD, n)
            room = max_tokens - tokens
            chosen = np.full(_LAST_ROWS, -1)
            if rows and room <= _LAST_ROWS * longest and rows + _LAST_ROWS <= max_sequences:
                chosen = _fill(lengths_n, is_taken_n, first, last, room, longest)
                brought = 0
                for i in chosen:
                    brought += targets_n[i] if i >= 0 and len(targets_n) else 0
                if targets + brought > max_targets:
                    chosen[:] = -1
            if chosen[0] < 0:
                best, in_order = _next_row(
                    lengths_n, targets_n, is_taken_n, first, last, room, max_targets - targets, in_order
                )
                chosen[0] = best
            if chosen[0] < 0:
                break
            for i in chosen:
                if i >= 0:
                    is_taken_n[i] = True
                    order_n[num_taken] = i
                    num_taken += 1
                    rows += 1
                    tokens += lengths_n[i]
                    targets += targets_n[i] if len(targets_n) else 0
        num_packs += 1
        borders[num_packs] = num_taken
    return order_n, borders[: num_packs + 1].copy()


@njit
def _next_row(lengths_n, targets_n, is_taken_n, first, last, room, targets_left, in_order):
    """Return the next row that fits and whether rows are still taken in order: where one did not fit, the longest that
    fits is next. -1: none fits."""
    best = -1
    for i in range(first, last):
        if is_taken_n[i]:
            continue
        if lengths_n[i] <= room and (not len(targets_n) or targets_n[i] <= targets_left):
            if best < 0 or lengths_n[i] > lengths_n[best]:
                best = i
            if in_order:
                break
        else:
            in_order = False
    return best, in_order


@njit
def _fill(lengths_n, is_taken_n, first, last, room, longest):
    """Return up to three rows, in order, that together leave the least of `room`; -1 behind them, [3]."""
    count = np.zeros(longest + 1, dtype=np.int64)  # of rows by their length
    for i in range(first, last):
        count[lengths_n[i]] += not is_taken_n[i]
    below = np.zeros(longest + 1, dtype=np.int64)  # the length of the longest row of at most this; 0: there is none
    for length in range(1, longest + 1):
        below[length] = length if count[length] else below[length - 1]
    best, lengths = 0, np.zeros(_LAST_ROWS, dtype=np.int64)
    one = below[min(longest, room)]
    while one and best < room:
        two = below[one if count[one] > 1 else one - 1]
        two = below[min(two, room - one)]
        three = 0
        if one > best:
            best, lengths[0], lengths[1], lengths[2] = one, one, 0, 0
        while two and best < room:
            three = below[min(two, room - one - two)]
            while three and count[three] < 1 + (three == one) + (three == two):
                three = below[three - 1]
            if one + two + three > best:
                best, lengths[0], lengths[1], lengths[2] = one + two + three, one, two, three
            two = below[two - 1]
        one = below[one - 1]
    chosen = np.full(_LAST_ROWS, -1)
    found = 0
    for i in range(first, last):
        for k in range(_LAST_ROWS):
            if lengths[k] and lengths_n[i] == lengths[k] and not is_taken_n[i]:
                chosen[found] = i
                found += 1
                lengths[k] = 0
                break
    return chosen


def _checked(
    lengths: np.ndarray,
    max_tokens: int,
    max_sequences: int | None,
    num_targets: np.ndarray | None,
    max_targets: int | None,
) -> tuple[np.ndarray, np.ndarray, np.int64, np.int64, np.int64]:
    """The arguments as the compiled loops take them. Raises: ConfigError as `pack_boundaries`."""
    lengths_n = np.ascontiguousarray(lengths, dtype=np.int64)
    targets_n = np.ascontiguousarray([] if num_targets is None else num_targets, dtype=np.int64)
    _check_row("max_tokens", "tokens", lengths_n, max_tokens)
    _check_row("max_targets", "targets", targets_n, max_targets)
    if max_sequences is not None and max_sequences < 1:
        raise ConfigError(f"max_sequences must be at least 1, got {max_sequences}.")
    return (
        lengths_n,
        targets_n,
        np.int64(max_tokens),
        np.int64(_NO_LIMIT if max_sequences is None else max_sequences),
        np.int64(_NO_LIMIT if max_targets is None else max_targets),
    )


def _check_row(option: str, unit: str, sizes_n: np.ndarray, limit: int | None) -> None:
    if limit is None or not len(sizes_n):
        return
    row = int(sizes_n.argmax())
    if sizes_n[row] > limit:
        raise ConfigError(
            f"row {row} has {int(sizes_n[row])} {unit}, a pack holds {option}={limit}; "
            f"raise {option} to at least {int(sizes_n[row])} or shorten the sequences."
        )
