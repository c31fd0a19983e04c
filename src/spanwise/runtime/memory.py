"""How much memory this process holds, as the system counts it."""

from __future__ import annotations

import contextlib
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
