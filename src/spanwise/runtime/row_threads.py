"""Compiled loops over rows by the threads that torch computes with.

After an operator torch's threads keep their cores for some milliseconds, turning in place to be ready for the next one,
so threads of another kind would wait for a core as long. Therefore a loop is handed to those very threads, by the
parallel regions of the OpenMP library that torch is linked with. Where it has no such entry (macOS, Windows) and in a
forked process, which inherits no thread, threads that are kept for this take all parts but the first. Loops release the
interpreter lock. Parts depend on the number of rows and threads alone, so results are repeatable.

Source: `GOMP_parallel` of GCC's libgomp, which the libraries of LLVM and Intel have on Linux too.
"""

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")

FEWEST_ROWS = 16  # of a part that is worth a thread
_PROCESS = os.getpid()
_REGION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def num_parts(num_rows: int) -> int:
    """How many parts `num_rows` rows are computed in."""
    return max(1, min(torch.get_num_threads(), num_rows // FEWEST_ROWS))


def in_parts(loop: Callable[[int, int, int], Result], num_rows: int) -> list[Result]:
    """Call `loop(part, first, last)` for every part of the rows, side by side; return what they gave, in order."""
    parts = num_parts(num_rows)
    if parts == 1:
        return [loop(0, 0, num_rows)]
    borders = [num_rows * part // parts for part in range(parts + 1)]
    return side_by_side([functools.partial(loop, part, borders[part], borders[part + 1]) for part in range(parts)])


def side_by_side(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Make some calls, each thread one after the other; return what they gave, in order."""
    if len(calls) == 1:
        return [calls[0]()]
    return _in_region(calls) if shares_threads() else _by_kept_threads(calls)


def shares_threads() -> bool:
    """Return whether calls side by side are made by torch's own threads, so that its operators inside them take one
    thread each. Elsewhere each would take as many as torch has."""
    return _region_of_torch() is not None and os.getpid() == _PROCESS


def _in_region(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    found: dict[int, Result] = {}
    errors: list[BaseException] = []
    left = iter(range(len(calls)))  # a thread takes one after the other: a region may have fewer threads than asked for

    def take(_: Any = None) -> None:
        try:
            for part in left:
                found[part] = calls[part]()
        except BaseException as error:  # an exception can't leave a region
            errors.append(error)

    # torch's own number of threads: a region of fewer would end the others, and torch start them anew
    enter = _region_of_torch()
    assert enter is not None  # as `shares_threads` says
    enter(_REGION(take), None, torch.get_num_threads(), 0)
    take()
    if errors:
        raise errors[0]
    return [found[part] for part in range(len(calls))]


def _by_kept_threads(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    others = [_threads(os.getpid(), len(calls) - 1).submit(call) for call in calls[1:]]
    return [calls[0](), *(other.result() for other in others)]


@functools.lru_cache(maxsize=1)
def _region_of_torch() -> Callable[..., None] | None:
    """The entry of torch's OpenMP library that starts a region, or None where it has none."""
    try:
        # what torch is linked with is found through torch: another copy of the library would have other threads
        enter = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")).GOMP_parallel
    except (OSError, AttributeError):
        return None
    enter.argtypes, enter.restype = [_REGION, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return enter


@functools.lru_cache(maxsize=1)
def _threads(process: int, number: int) -> ThreadPoolExecutor:
    """Kept threads; a forked process makes its own."""
    return ThreadPoolExecutor(number, thread_name_prefix="spanwise-rows")
