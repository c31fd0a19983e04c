"""How much memory this process holds, as the system counts it."""

import contextlib
import ctypes
import os
import sys
from pathlib import Path


def resident_bytes() -> int:
    """Memory in RAM right now; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def peak_resident_bytes() -> int:
    """The most memory this process ever had in RAM; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def return_freed_memory() -> None:
    """Give the system what was freed here and is still held for the next allocation; a no-op outside glibc.

    Freed blocks of less than 32 MiB stay with the process. Between two phases of different sizes that can be as much
    as what is really in use.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
