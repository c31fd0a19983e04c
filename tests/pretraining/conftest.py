"""A vocabulary without strings, and the folder's toy packs on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from spanwise.data.vocabulary import Vocabulary

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """200 ids: 5 specials, 95 word starts, 100 continuation pieces; counts fall like 1 / rank."""
    ids = np.arange(200)
    return Vocabulary(
        size=200,
        pad_id=0,
        unk_id=1,
        cls_id=2,
        sep_id=3,
        mask_id=4,
        is_special=ids < 5,
        starts_word=(ids >= 5) & (ids < 100),
        unigram_counts=100_000 // (1 + ids),
    )
