"""The one way to compile a loop: `@njit`, with the machine code kept on disk where that is possible.

What the package compiles is kept in the user's cache folder under a hash of all its compiled sources, so that another
install of the same release finds it, and a change of a function that others call makes all of them anew, which numba
alone would not notice. NUMBA_CACHE_DIR names another place, and other people's functions are kept as numba keeps them:
beside their source, else in its own folder of the user. On machines where neither can be written (a read-only image, a
job without a home) numba raises at import; here it falls back to a private folder under the temporary directory, and
without one to compiling anew in each process. Import numba only through this module, so that the choice is made before
any function is decorated.

All functions release the interpreter lock, so that the one prefetch thread works beside PyTorch.
"""

import functools
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config as numba_config
from numba import extending
from numba.core import caching

intrinsic: Any = extending.intrinsic
"""For code that is written in LLVM's own instructions; see runtime/float_operations."""


PACKAGE = Path(__file__).parents[1]
_KEPT = 8  # states of the sources whose machine code is kept: releases side by side, a developer's changes


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
        return _own(Path(tempfile.gettempdir()) / f"spanwise-numba-{'user' if user is None else user}")
    except OSError:  # also FileNotFoundError of gettempdir: no temporary directory at all
        return None


def _own(folder: Path) -> Path | None:
    """The folder, made where it is missing; None where it is not this user's alone, or can't be written."""
    user = os.getuid() if hasattr(os, "getuid") else None
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return None
    if user is not None and (found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o022):
        return None
    return folder if writable(folder) else None


def user_cache_folder() -> Path:
    """Where this system keeps what a user's programs can make again."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@functools.cache
def sources_hash() -> str:
    """A hash of every source of the package that has compiled functions."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        if b"njit" in content:
            found.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


@functools.cache
def package_cache_folder() -> Path | None:
    """The folder of this state of the package's compiled functions, or None where there can't be one."""
    try:
        root = user_cache_folder() / "spanwise-compiled"
        root.parent.mkdir(parents=True, exist_ok=True)
        if _own(root) is None:
            return None
        folder = root / sources_hash()
        folder.mkdir(exist_ok=True)
        os.utime(folder)
        for old in sorted(root.iterdir(), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        return folder
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None


class PackageLocator:
    """Tells numba where the package's own functions are kept, by the interface of its `_CacheLocator`."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "PackageLocator | None":
        """Return a locator for a function of the package; None for any other, which numba then keeps its own way."""
        path = Path(file)
        if vars(numba_config).get("CACHE_DIR") or not path.is_relative_to(PACKAGE):
            return None
        root = package_cache_folder()
        if root is None:
            return None
        found = cls(root / ".".join(path.relative_to(PACKAGE).with_suffix("").parts), function.__code__.co_firstlineno)
        found.ensure_cache_path()
        return found

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return sources_hash()

    def get_disambiguator(self) -> str:
        return str(self._line)


_locators = getattr(getattr(caching, "CompileResultCacheImpl", None), "_locator_classes", None)
if isinstance(_locators, list):  # a numba that keeps its places elsewhere keeps these functions its own way
    _locators.insert(0, PackageLocator)


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
