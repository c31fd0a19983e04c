"""The one way to compile a loop: `@njit`, with the machine code kept on disk where that is possible.

Numba keeps compiled code beside the source, else in the user's cache folder. On machines where neither can be
written (a read-only image, a job without a home) it raises at import; here it falls back to a private folder under
the temporary directory, and without one to compiling anew in each process. Import numba only through this module,
so that the choice is made before any function is decorated.

All functions release the interpreter lock, so that the one prefetch thread works beside PyTorch.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config as numba_config
from numba import extending

intrinsic: Any = extending.intrinsic
"""For code that is written in LLVM's own instructions; see runtime/float_operations."""


def writable(folder: Path) -> bool:
    """Try whether a file can be made in `folder`, which is created where missing; permissions alone can lie."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def private_cache_folder() -> Path | None:
    """A folder under the temporary directory that only this user can write, or None.

    Compiled code is loaded back by unpickling: a folder of another owner, a link, or one that others may write to
    is never used.
    """
    try:
        user = os.getuid() if hasattr(os, "getuid") else None
        folder = Path(tempfile.gettempdir()) / f"spanwise-numba-{'user' if user is None else user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:  # also FileNotFoundError of gettempdir: no temporary directory at all
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if user is not None and (found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o022):
        return None
    return folder if writable(folder) else None


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True, nogil=True)`; use it bare or with numba's options (`@njit(inline="always")`)."""
    if function is None:
        return lambda decorated: njit(decorated, **options)
    # A loop that may add in another order becomes a part of its caller. As a function of its own it would exist twice,
    # optimised once and twice: a process that compiles would call the first, one that loads compiled code the second,
    # and their sums differ in the last bits.
    options = {"nogil": True, "forceinline": bool(options.get("fastmath")), **options}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder it may write
        return _with_private_cache(function, options)


def _with_private_cache(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    folder = private_cache_folder()
    if folder is not None:
        settings = vars(numba_config)  # a module that fills itself at run time
        before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(folder)
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            pass
        finally:
            settings["CACHE_DIR"] = before
    return numba.njit(**options)(function)
