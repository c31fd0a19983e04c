"""Weights of our own that ship with the package, by name; LICENSES.md beside them says where they come from."""

from importlib.resources import files
from pathlib import Path

SHIPPED = {
    "spanwise-mini": "mini",  # English: encoder, pre-training heads, and the tasks qa, tagging (names) and coref
    "spanwise-nano-ko": "nano-ko",  # Korean: the same with the task qa
}
SHIPPED_FOR = {"en": "spanwise-mini", "ko": "spanwise-nano-ko"}  # that answer questions, by language


def shipped_folder(name: object) -> Path | None:
    """The model folder of a shipped name, None for any other."""
    if name not in SHIPPED:
        return None
    return Path(str(files("spanwise.weights"))) / SHIPPED[str(name)]
