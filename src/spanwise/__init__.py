"""spanwise: pre-train, fine-tune and serve span-aware encoder models; SpanBERT is the flagship.

Importing this package loads nothing heavy; each name below is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanwise import recipes
    from spanwise.asking.ask import ask
    from spanwise.interop.load import load
    from spanwise.pipelines import pipeline
    from spanwise.pretraining.run import pretrain
    from spanwise.tasks.run import finetune

    __version__: str

__all__ = ["__version__", "ask", "finetune", "load", "pipeline", "pretrain", "recipes"]

_HOMES = {
    "ask": "spanwise.asking.ask",
    "finetune": "spanwise.tasks.run",
    "load": "spanwise.interop.load",
    "pipeline": "spanwise.pipelines",
    "pretrain": "spanwise.pretraining.run",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name == "recipes":
        value = importlib.import_module("spanwise.recipes")
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("spanwise")
    else:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}; it has {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
