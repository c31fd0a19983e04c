"""How stored text becomes training sequences: one format a file."""

from spanwise.pretraining.formats.base import NO_LABEL, BlockTable, InputFormat
from spanwise.pretraining.formats.contiguous_text import ContiguousText
from spanwise.pretraining.formats.doc_sentences import DocSentences
from spanwise.pretraining.formats.full_sentences import FullSentences
from spanwise.pretraining.formats.single_segment import SingleSegment

FORMATS = (SingleSegment, DocSentences, FullSentences, ContiguousText)
"""All formats, to be found by their part's name."""

__all__ = [
    "FORMATS",
    "NO_LABEL",
    "BlockTable",
    "ContiguousText",
    "DocSentences",
    "FullSentences",
    "InputFormat",
    "SingleSegment",
]
