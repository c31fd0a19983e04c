"""How stored text becomes training sequences: one format a file."""

from spanwise.pretraining.formats.base import NO_LABEL, BlockTable, InputFormat
from spanwise.pretraining.formats.contiguous_text import ContiguousText
from spanwise.pretraining.formats.full_sentences import FullSentences
from spanwise.pretraining.formats.ordered_pair import OrderedPair
from spanwise.pretraining.formats.sentence_pair import SegmentPair, SentencePair
from spanwise.pretraining.formats.single_segment import DocSentences, SingleSegment
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
