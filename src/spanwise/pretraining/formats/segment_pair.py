"""RoBERTa's SEGMENT-PAIR + NSP: BERT's pairs in RoBERTa's layout, <s> A </s></s> B </s>.

Source: Liu et al. 2019 (RoBERTa), section 4.2 and Table 2.
"""

from __future__ import annotations

from typing import Literal

from spanwise.config import part
from spanwise.pretraining.formats.sentence_pair import SentencePair


@part("segment_pair")
class SegmentPair(SentencePair):
    """`SentencePair` with two separators between the segments and one token type.

    With `sentences="one"` it is the paper's SENTENCE-PAIR + NSP.
    """

    num_separators: Literal[1, 2] = 2
    num_token_types: Literal[1, 2] = 1
