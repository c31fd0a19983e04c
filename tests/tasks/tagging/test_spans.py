"""Tags to spans and back, as seqeval reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from spanwise.tasks.tagging.spans import Span, is_entity_tag, spans_of, tag_names, tags_of

TAGS = st.lists(st.sampled_from(["O", *(f"{k}-{t}" for k in "BIES" for t in ("PER", "LOC-X"))]), max_size=12)


@given(TAGS)
def test_any_tags_stand_for_the_spans_that_conlleval_and_seqeval_see(tags):
    assert [(s.label, s.first, s.last - 1) for s in spans_of(tags)] == get_entities(tags)


@given(TAGS, st.sampled_from(["IOB2", "IOBES"]))
def test_spans_written_as_tags_are_read_back(tags, scheme):
    spans = spans_of(tags)
    assert spans_of(tags_of(spans, len(tags), scheme)) == spans


def test_every_scheme_says_the_same():
    spans = [Span(0, 2, "PER"), Span(2, 3, "PER"), Span(4, 7, "LOC")]
    for tags in (
        "I-PER I-PER B-PER O I-LOC I-LOC I-LOC",  # IOB1
        "B-PER I-PER B-PER O B-LOC I-LOC I-LOC",
        "B-PER E-PER S-PER O B-LOC I-LOC E-LOC",
        "B-PER L-PER U-PER O B-LOC I-LOC L-LOC",  # BILOU
        "B-PER E-PER S-PER O B-LOC M-LOC E-LOC",  # BMES
    ):
        assert spans_of(tags.split()) == spans, tags
    assert tags_of(spans, 7) == ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "I-LOC", "I-LOC"]
    assert tags_of(spans, 7, "IOBES") == ["B-PER", "E-PER", "S-PER", "O", "B-LOC", "I-LOC", "E-LOC"]


def test_tag_names_begin_with_o():
    assert tag_names(["b", "a", "a"]) == ("O", "B-a", "I-a", "B-b", "I-b")
    assert tag_names(["a"], "IOBES") == ("O", "B-a", "I-a", "E-a", "S-a")


@pytest.mark.parametrize(
    ("tag", "is_one"), [("O", True), ("B-X", True), ("NOUN", False), ("B-", False), ("X-Y", False)]
)
def test_word_classes_are_no_entity_tags(tag, is_one):
    assert is_entity_tag(tag) is is_one
