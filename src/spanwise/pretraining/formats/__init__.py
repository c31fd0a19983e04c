"""How stored text becomes training sequences: one format a file."""

from spanwise.pretraining.formats.base import NO_LABEL, BlockTable, InputFormat
from spanwise.pretraining.formats.contiguous_text import ContiguousText
from spanwise.pretraining.formats.doc_sentences import DocSentences
from spanwise.pretraining.formats.full_sentences import FullSentences
from spanwise.pretraining.formats.ordered_pair import OrderedPair
from spanwise.pretraining.formats.segment_pair import SegmentPair
from spanwise.pretraining.formats.sentence_pair import SentencePair
from spanwise.pretraining.formats.single_segment import SingleSegment
from spanwise.pretraining.formats.split_segments import SplitSegments

FORMATS = (
    SingleSegment,
    DocSentences,
    FullSentences,
    ContiguousText,
    SplitSegments,
    OrderedPair,
    SentencePair,
    SegmentPair,
)
"""All formats, to be found by their part's name."""

__all__ = [
    "FORMATS",
    "NO_LABEL",
    "BlockTable",
    "ContiguousText",
    "DocSentences",
    "FullSentences",
    "InputFormat",
    "OrderedPair",
    "SegmentPair",
    "SentencePair",
    "SingleSegment",
    "SplitSegments",
]
