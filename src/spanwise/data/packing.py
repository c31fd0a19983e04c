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
    while num_taken < n:
        tokens, rows, targets = 0, 0, 0
        in_order = True
        while rows < max_sequences:
            while first < n and is_taken_n[first]:
                first += 1
            best = -1
            for i in range(first, min(first + _AHEAD, n)):
                if is_taken_n[i]:
                    continue
                targets_i = targets_n[i] if len(targets_n) else 0
                if tokens + lengths_n[i] <= max_tokens and targets + targets_i <= max_targets:
                    if best < 0 or lengths_n[i] > lengths_n[best]:
                        best = i
                    if in_order:
                        break
                else:
                    in_order = False  # from here on the longest that fits
            if best < 0:
                break
            is_taken_n[best] = True
            order_n[num_taken] = best
            num_taken += 1
            rows += 1
            tokens += lengths_n[best]
            targets += targets_n[best] if len(targets_n) else 0
        num_packs += 1
        borders[num_packs] = num_taken
    return order_n, borders[: num_packs + 1].copy()


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
