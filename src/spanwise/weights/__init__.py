"""Weights of our own that ship with the package, by name; LICENSES.md beside them says where they come from."""

from importlib.resources import files
from pathlib import Path

SHIPPED = {
    "spanwise-mini": "mini",  # English, pre-trained: encoder, MLM and SBO heads
    "spanwise-mini-qa": "mini-qa",  # the same, fine-tuned for questions
    "spanwise-nano-ko": "nano-ko",  # Korean
    "spanwise-nano-ko-qa": "nano-ko-qa",
}


def shipped_folder(name: object) -> Path | None:
    """The model folder of a shipped name, None for any other."""
    if name not in SHIPPED:
        return None
    return Path(str(files("spanwise.weights"))) / SHIPPED[str(name)]
