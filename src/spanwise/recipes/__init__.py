"""Every system as one readable function; `find("spanbert-base")` or `find("my_recipes.py:my_function")`."""

from spanwise.recipes.catalogue import find, names
from spanwise.recipes.spanbert import (
    spanbert_base,
    spanbert_base_original,
    spanbert_large,
    spanbert_large_original,
    spanbert_mini,
    spanbert_quickstart,
    spanbert_small,
    spanbert_tiny,
)

__all__ = [
    "find",
    "names",
    "spanbert_base",
    "spanbert_base_original",
    "spanbert_large",
    "spanbert_large_original",
    "spanbert_mini",
    "spanbert_quickstart",
    "spanbert_small",
    "spanbert_tiny",
]
