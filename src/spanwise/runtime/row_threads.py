"""Compiled loops over rows by as many threads as torch computes with.

The calling thread takes the first part and threads kept for this take the others; loops release the interpreter lock.
With one thread nothing is started. Parts depend on the number of rows and threads alone, so results are repeatable.
"""

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")

FEWEST_ROWS = 16  # of a part that is worth a thread


def num_parts(num_rows: int) -> int:
    """How many parts `num_rows` rows are computed in."""
    return max(1, min(torch.get_num_threads(), num_rows // FEWEST_ROWS))


def in_parts(loop: Callable[[int, int, int], Result], num_rows: int) -> list[Result]:
    """Call `loop(part, first, last)` for every part of the rows, side by side; return what they gave, in order."""
    parts = num_parts(num_rows)
    borders = [num_rows * part // parts for part in range(parts + 1)]
    if parts == 1:
        return [loop(0, 0, num_rows)]
    others = [_threads(os.getpid(), parts - 1).submit(loop, p, borders[p], borders[p + 1]) for p in range(1, parts)]
    return [loop(0, 0, borders[1]), *(other.result() for other in others)]


@functools.lru_cache(maxsize=1)
def _threads(process: int, number: int) -> ThreadPoolExecutor:
    """Kept threads; a forked process, which inherits none, makes its own."""
    return ThreadPoolExecutor(number, thread_name_prefix="spanwise-rows")
