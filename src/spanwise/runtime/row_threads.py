"""Compiled loops over rows by the threads that torch computes with.

After an operator torch's threads keep their cores for some milliseconds, turning in place to be ready for the next one,
so threads of another kind would wait for a core as long. Therefore a loop is handed to those very threads, by a
parallel region of the OpenMP library that torch is linked with. Where it has no such entry (macOS, Windows) and in a
process forked since this was imported, threads that are kept for this take all parts but the first. (A child of a
process in which torch has computed with several threads must not do so with torch either.) Loops release the
interpreter lock. Parts depend on the number of rows and threads alone, so results are repeatable.

Source: `GOMP_parallel_start` of GCC's libgomp, which the libraries of LLVM and Intel have on Linux too.
"""

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

Result = TypeVar("Result")

FEWEST_ROWS = 16  # of a part that is worth a thread
_PROCESS = os.getpid()
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


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
    left = iter(range(len(calls)))  # each thread takes one after the other, and a region may have fewer than asked for

    def take() -> None:
        for part in left:
            if errors:
                break
            found[part] = calls[part]()

    def take_elsewhere(_: Any) -> None:
        try:
            take()
        except BaseException as error:  # an exception can't leave a region
            errors.append(error)

    entry, region = _ENTRY(take_elsewhere), _region_of_torch()
    assert region is not None  # as `shares_threads` says
    # torch's own number of threads: a region of fewer would end the others, and torch start them anew
    num_threads = torch.get_num_threads()
    # This thread's part is no callback: signals reach Python here, and what they raise would be lost in one.
    try:
        region.start(entry, None, num_threads)
        take()
    except BaseException as error:
        errors.append(error)  # the others stop behind their part
        raise
    finally:
        region.end()
    if errors:
        raise errors[0]
    return [found[part] for part in range(len(calls))]


def _by_kept_threads(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    others = [_threads(os.getpid(), len(calls) - 1).submit(call) for call in calls[1:]]
    return [calls[0](), *(other.result() for other in others)]


class _Region(NamedTuple):
    """The entries of torch's OpenMP library that begin a region, in which the caller is one thread, and end it."""

    start: Callable[[Any, None, int], None]
    end: Callable[[], None]


@functools.lru_cache(maxsize=1)
def _region_of_torch() -> _Region | None:
    """The entries, or None where the library has none."""
    try:
        # what torch is linked with is found through torch: another copy of the library would have other threads
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        start, end = library.GOMP_parallel_start, library.GOMP_parallel_end
    except (OSError, AttributeError):
        return None
    start.argtypes, start.restype = [_ENTRY, ctypes.c_void_p, ctypes.c_uint], None
    end.argtypes, end.restype = [], None
    return _Region(start, end)


@functools.lru_cache(maxsize=1)
def _threads(process: int, number: int) -> ThreadPoolExecutor:
    """Kept threads; a forked process makes its own."""
    return ThreadPoolExecutor(number, thread_name_prefix="spanwise-rows")
