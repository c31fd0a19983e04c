"""DOC-SENTENCES and single segments are one rule under two names."""

from __future__ import annotations

from toy_blocks import sequences_of

from spanwise.config import from_record, to_record
from spanwise.pretraining.formats import DocSentences, SingleSegment


def test_doc_sentences_are_the_blocks_of_single_segments(store):
    assert sequences_of(DocSentences(max_length=32), store) == sequences_of(SingleSegment(max_length=32), store)


def test_a_record_keeps_the_name_of_the_paper():
    record = to_record(DocSentences(max_length=32))

    assert record == {"part": "doc_sentences", "max_length": 32}
    assert from_record(record, [DocSentences]) == DocSentences(max_length=32)
