"""The numbers that parts of a recipe hold: each kind with its range.

A field of a part is declared with one of these, so that a number that is negative, huge or none at all is refused with
the name of its field before anything is built. The upper ends lie far beyond all use; what they keep out is what would
end in a crash of a library, an overflow or a run without end. A test shows that no number of any part is without range.
"""

from typing import Annotated

from pydantic import Field

MOST_TOKENS = 10**7  # of a pack
MOST_LAYERS = 1000
_LONGEST = 2**20

Share = Annotated[float, Field(ge=0, le=1)]
Chance = Annotated[float, Field(gt=0, le=1)]
Dropout = Annotated[float, Field(ge=0, lt=1)]
Weight = Annotated[float, Field(ge=0, le=1e6)]  # of a loss or a penalty
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]  # by which something is multiplied or divided
Margin = Annotated[float, Field(ge=-1e9, le=1e9)]  # between two scores
Rate = Annotated[float, Field(gt=0, le=1e30)]  # of learning
Deviation = Annotated[float, Field(gt=0, le=1e3)]  # of first weights

Count = Annotated[int, Field(ge=1, le=10**9)]  # of examples, steps or tokens
Words = Annotated[int, Field(ge=1, le=1000)]  # of a span
Length = Annotated[int, Field(ge=1, le=_LONGEST)]  # tokens of a text or window
Room = Annotated[int, Field(ge=8, le=_LONGEST)]  # tokens of a sequence with special tokens and two texts
Layers = Annotated[int, Field(ge=1, le=MOST_LAYERS)]
Width = Annotated[int, Field(ge=1, le=2**17)]  # numbers of a vector
Rows = Annotated[int, Field(ge=1, le=2**24)]  # of a table
RowsOrNone = Annotated[int, Field(ge=0, le=2**24)]
PackTokens = Annotated[int, Field(ge=8, le=MOST_TOKENS)]
