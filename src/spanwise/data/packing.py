"""Cut rows, in the order they are visited, into packs.

A pack has up to three capacities: tokens, sequences and targets. It closes at the first one the next row would
pass. One compiled pass serves a whole epoch; nothing is looked at twice and no row changes its place, so packing
is a pure function of the lengths.
"""

import numpy as np

from spanwise.errors import ConfigError
from spanwise.runtime.compiled import njit

_NO_LIMIT = np.iinfo(np.int64).max


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
    lengths_n = np.ascontiguousarray(lengths, dtype=np.int64)
    targets_n = np.ascontiguousarray([] if num_targets is None else num_targets, dtype=np.int64)
    _check_row("max_tokens", "tokens", lengths_n, max_tokens)
    _check_row("max_targets", "targets", targets_n, max_targets)
    if max_sequences is not None and max_sequences < 1:
        raise ConfigError(f"max_sequences must be at least 1, got {max_sequences}.")
    return _boundaries(
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
