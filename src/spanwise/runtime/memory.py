"""How much memory this process holds, as the system counts it, and what becomes of freed memory."""

import contextlib
import ctypes
import os
import platform
import sys
from pathlib import Path

KEPT_BYTES = 512 << 20  # free ones, beyond which malloc gives them back
_LARGEST_BYTES = 32 << 20  # of a block that malloc cuts from what it keeps: the most that glibc takes
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of malloc.h
_OTHER_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.trim", "glibc.malloc.mmap")


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


def keep_freed_memory() -> bool:
    """Let this process keep freed memory for its next allocations, up to KEPT_BYTES; return whether it does so.

    What one training step frees the next one takes. By default glibc gives it back, and the system clears every page
    anew, which is a tenth of a step at 4 x 256 on two cores. Settings of glibc in the environment stay as they are.
    Source: mallopt(3).
    """
    named = f"{' '.join(os.environ)} {os.environ.get('GLIBC_TUNABLES', '')}"
    if platform.libc_ver()[0] != "glibc" or any(other in named for other in _OTHER_SETTINGS):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return bool(set_option(_MMAP_THRESHOLD, _LARGEST_BYTES) and set_option(_TRIM_THRESHOLD, KEPT_BYTES))


def return_freed_memory() -> None:
    """Give the system what was freed here and is still held for the next allocation; a no-op outside glibc.

    Freed blocks of less than 32 MiB stay with the process. Between two phases of different sizes that can be as much
    as what is really in use.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
