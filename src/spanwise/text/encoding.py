"""One text as tokens: what every tokenizer gives, and what taggers, tasks and pipelines read."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Encoding:
    """One text as n tokens, specials not added."""

    ids: np.ndarray  # [n] int32
    offsets: np.ndarray  # [n, 2] int32: half-open character ranges of the text as given
    word_ids: np.ndarray  # [n] int32, from 0
