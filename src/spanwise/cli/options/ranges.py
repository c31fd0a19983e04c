"""Numbers of options with their ranges; the parser refuses others with the name of the option.

The ends lie beyond all use, as those of a recipe's numbers (config/ranges.py).
"""

from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

Validator = Callable[[object, float | None], None]
MOST_PROCESSES = 256  # of one machine that share a model, a core or a GPU each
MOST_READERS = 1024  # processes that read text, each its share


def between(least: float, most: float) -> Validator:
    """Return a check of an option's value, which passes over options that are not given; NaN lies between nothing."""

    def check(type_: object, value: float | None) -> None:
        if value is not None and not least <= value <= most:
            raise ValueError(f"Must be from {least:,} to {most:,}.")

    return check


Count = Annotated[int, Parameter(validator=between(1, 10**9))]
CountOrNone = Annotated[int | None, Parameter(validator=between(1, 10**9))]
Few = Annotated[int, Parameter(validator=between(1, 10_000))]  # seeds, examples, draws
FewOrNone = Annotated[int | None, Parameter(validator=between(1, 10_000))]
Characters = Annotated[int | None, Parameter(validator=between(1, 10**15))]
Tokens = Annotated[int | None, Parameter(validator=between(1, 10**16))]
Processes = Annotated[int, Parameter(validator=between(1, MOST_PROCESSES))]
ReadersOrNone = Annotated[int | None, Parameter(validator=between(1, MOST_READERS))]
Seed = Annotated[int, Parameter(validator=between(-(2**63), 2**63))]
Epoch = Annotated[int, Parameter(validator=between(0, 10**9))]
VocabularySize = Annotated[int, Parameter(validator=between(64, 2**24))]
VocabularySizeOrNone = Annotated[int | None, Parameter(validator=between(1, 2**24))]
Port = Annotated[int, Parameter(validator=between(0, 65_535))]
Seconds = Annotated[float, Parameter(validator=between(0.001, 3_600))]
Minutes = Annotated[float, Parameter(validator=between(0.0001, 10_000))]
ShareOf = Annotated[float, Parameter(validator=between(0, 1))]
LineMegabytes = Annotated[int, Parameter(validator=between(1, 1024))]
Pieces = Annotated[int, Parameter(validator=between(0, 10**6))]
