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
from spanwise.recipes.spanbert_ko import (
    spanbert_ko_base,
    spanbert_ko_mini,
    spanbert_ko_small,
    spanbert_ko_tiny,
    spanbert_quickstart_ko,
)

__all__ = [
    "find",
    "names",
    "spanbert_base",
    "spanbert_base_original",
    "spanbert_ko_base",
    "spanbert_ko_mini",
    "spanbert_ko_small",
    "spanbert_ko_tiny",
    "spanbert_large",
    "spanbert_large_original",
    "spanbert_mini",
    "spanbert_quickstart",
    "spanbert_quickstart_ko",
    "spanbert_small",
    "spanbert_tiny",
]
