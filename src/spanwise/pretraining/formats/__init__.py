"""How stored text becomes training sequences: one format a file."""

from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.single_segment import SingleSegment

__all__ = ["BlockTable", "SingleSegment"]
