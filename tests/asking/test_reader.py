"""The reader gives comparable scores of spans of each passage."""

import pytest

from spanwise.asking.reader import KEPT, Reader
from spanwise.errors import CheckpointError


@pytest.fixture(scope="module")
def reader():
    return Reader.for_language("en", device="cpu", precision="fp32")


def test_spans_of_each_passage_come_best_first_with_its_null_score(reader):
    passages = ["The bridge was built in 1890.", "Anna lives in Rome. " * 200]
    found = reader.read("When was the bridge built?", passages)
    assert [len(one.spans) for one in found] == [KEPT, KEPT]
    for text, one in zip(passages, found, strict=True):
        assert [span.score for span in one.spans] == sorted((span.score for span in one.spans), reverse=True)
        assert all(text[span.start : span.end].strip() for span in one.spans)
    best = found[0].spans[0]
    assert passages[0][best.start : best.end] == "1890"
    assert best.score - found[0].null_score > found[1].spans[0].score - found[1].null_score


def test_no_answer_goes_on_in_another_paragraph(reader):
    text = "Anna built the bridge in\n\n1890 it was. \n \nAnna built the bridge in\n1891."
    for question in ("Who built the bridge?", "When was the bridge built?", "What was built?"):
        spans = reader.read(question, [text])[0].spans
        assert len(spans) == KEPT and not any("\n\n" in text[s.start : s.end].replace(" ", "") for s in spans)
    words = "Anna\n\nbuilt\n\n1890\n\n1891"
    found = reader.read("When was the bridge built?", [words])[0].spans
    assert len(found) == KEPT and not any("\n" in words[span.start : span.end] for span in found)


def test_what_is_read_of_a_passage_does_not_depend_on_the_others(reader):
    question, passages = "Who founded it?", ["Anna Miller founded it in 1850.", "It has 4,000 students."]
    together = reader.read(question, passages)
    alone = [reader.read(question, [passage])[0] for passage in passages]
    for one, other in zip(together, alone, strict=True):
        assert [(s.start, s.end) for s in one.spans] == [(s.start, s.end) for s in other.spans]
        assert one.null_score == pytest.approx(other.null_score, abs=1e-4)


def test_no_passage_and_no_such_model(reader, tmp_path):
    assert reader.read("Who?", []) == []
    with pytest.raises(CheckpointError):
        Reader(tmp_path / "none")
