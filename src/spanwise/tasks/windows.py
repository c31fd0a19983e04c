"""Cut a passage that is longer than the model into overlapping windows.

Letters: n tokens in the passage, W windows.
Source: Devlin et al. 2018 (BERT), the SQuAD code.
"""

import numpy as np

from spanwise.errors import ConfigError


def passage_windows(num_tokens: int, capacity: int, stride: int) -> np.ndarray:
    """Half-open token ranges, int64 [W, 2], that together cover the passage; each next one starts `stride` later.

    The last window ends at the passage's end; a stride longer than a window is cut to it, so no token is skipped. An
    empty passage has one empty window.
    Raises: ConfigError where `capacity` or `stride` is below 1.
    """
    if capacity < 1 or stride < 1:
        raise ConfigError(
            f"a window of {capacity} tokens and a stride of {stride} cannot cover a passage; use 1 or more."
        )
    step = min(capacity, stride)
    num_windows = 1 + max(0, -(-(num_tokens - capacity) // step))
    first_W = np.arange(num_windows, dtype=np.int64) * step
    return np.stack([first_W, np.minimum(first_W + capacity, num_tokens)], axis=1)


def max_context_window(windows: np.ndarray, num_tokens: int) -> np.ndarray:
    """For every token the window that shows most of its surroundings, int64 [n].

    A token's context in a window is the smaller number of tokens to its left and right, plus a hundredth of the
    window's length; the first of equal windows wins.
    """
    best_n = np.zeros(num_tokens, dtype=np.int64)
    if len(windows) == 1:
        return best_n
    context_n = np.full(num_tokens, -1.0)
    for window, (first, last) in enumerate(windows):
        place = np.arange(last - first)
        context = np.minimum(place, place[::-1]) + 0.01 * (last - first)
        better = context > context_n[first:last]
        context_n[first:last][better] = context[better]
        best_n[first:last][better] = window
    return best_n


def token_range(offsets_n2: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The tightest half-open range of tokens that covers the characters `[start, end)`; None where no token does."""
    first = int(np.searchsorted(offsets_n2[:, 1], start, side="right"))
    last = int(np.searchsorted(offsets_n2[:, 0], end, side="left"))
    return (first, last) if first < last else None
