"""Spans and tags from scores, written and read back."""

import json

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.tasks.tagging.predictions import decide, read_tags
from spanwise.tasks.tagging.reader import read_tagged
from spanwise.tasks.tagging.sentences import Sentence, TaggedData

LABELS = ("O", "B-X", "I-X")
WORDS = Sentence("in New York", ((0, 2), (3, 6), (7, 11)), ("O", "B-X", "I-X"), "x, line 1")


def scores(*tags):
    return np.array([[5.0 if k == tag else 0.0 for k in range(3)] for tag in tags], dtype=np.float32)


def decided(level="words", kind="entities", told=(0, 1, 2), spans=((0, 2), (3, 6), (7, 11)), sentence=WORDS):
    data = TaggedData(source="x", sentences=(sentence,), level=level, kind=kind)
    return data, decide(data, [scores(*told)], [np.array(spans)], LABELS, np.array([1]))


def test_spans_have_the_characters_of_the_text():
    _, found = decided()
    sure = float(np.exp(5) / (np.exp(5) + 2))
    assert found.record(0) == {
        "spans": [{"start": 3, "end": 11, "text": "New York", "label": "X", "score": pytest.approx(sure)}],
        "num_windows": 1,
        "num_dropped_tokens": 0,
    }


def test_pieces_are_told_as_tags_of_characters():
    sentence = Sentence("서울은", ((0, 1), (1, 2), (2, 3)), (), "x")
    _, found = decided("characters", told=(1, 0), spans=((0, 2), (2, 3)), sentence=sentence)
    assert found.tags == (("B-X", "I-X", "O"),) and found.record(0)["spans"][0]["text"] == "서울"


@pytest.mark.parametrize("kind", ["entities", "classes"])
def test_what_is_written_is_read_back(tmp_path, kind):
    data, found = decided(kind=kind)
    path = tmp_path / "p.conll"
    path.write_text(found.files()[".conll"], encoding="utf-8")
    assert read_tags(path, data) == list(found.tags)
    assert read_tagged(path, purpose="score").sentences[0].text == WORDS.text
    assert len(found.found[0]) == (1 if kind == "entities" else 3)
    assert found.files()[".json"][0]["text"] == WORDS.text


def test_predictions_of_other_sentences_are_refused(tmp_path):
    data, _ = decided()
    path = tmp_path / "p.conll"
    path.write_text("in\tO\nOld\tO\nYork\tO\n")
    with pytest.raises(DataError, match=r"line 1: the sentence differs from that of x, line 1 \('in New York'\)"):
        read_tags(path, data)
    path.write_text("in\tO\n\nNew\tO\n")
    with pytest.raises(DataError, match="holds 2 sentences and x 1"):
        read_tags(path, data)


@pytest.mark.parametrize("kind", ["entities", "classes"])
def test_spans_that_are_written_are_read_back_as_the_same_tags(tmp_path, kind):
    data, found = decided(kind=kind)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(found.files()[".json"]))
    assert read_tags(path, data) == list(found.tags)


def test_units_that_would_end_a_line_are_written_as_blanks(tmp_path):
    sentence = Sentence("a\tb\nc", tuple((n, n + 1) for n in range(5)), (), "x")
    data, found = decided("characters", told=(1, 2, 0), spans=((0, 1), (2, 3), (4, 5)), sentence=sentence)
    path = tmp_path / "p.conll"
    path.write_text(found.files()[".conll"])
    assert read_tags(path, data) == [("B-X", "I-X", "I-X", "O", "O")]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"text": "in Old York", "spans": []}, "entry 1: the text differs from that of x, line 1"),
        ({"text": "in New York", "spans": [{"start": 4, "end": 11, "label": "X"}]}, "span 4:11 does not begin and end"),
        ({"text": "in New York"}, "entry 1: a list 'spans'"),
        ([], "entry 1: the text differs"),
    ],
)
def test_spans_of_other_texts_or_between_units_are_refused(tmp_path, record, words):
    data, _ = decided()
    path = tmp_path / "p.json"
    path.write_text(json.dumps([record]))
    with pytest.raises(DataError, match=words):
        read_tags(path, data)
    path.write_text("{}")
    with pytest.raises(DataError, match="holds no list of sentences and x 1"):
        read_tags(path, data)
    data, _ = decided(kind="classes")
    path.write_text('[{"text": "in New York", "spans": []}]')
    with pytest.raises(DataError, match="each word of the gold needs one class"):
        read_tags(path, data)
