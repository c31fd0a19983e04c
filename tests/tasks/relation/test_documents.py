"""Documents with several sentences of several mentions, and instances listed by relation."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.relation.reader import read_relations

DOCUMENT = {
    "doc_key": "D",
    "sentences": [["A", "parser", "learns", "trees", "."], ["It", "helps", "parsing", "of", "long", "texts", "."]],
    "ner": [[[0, 1, "Method"], [3, 3, "Task"]], [[7, 7, "Task"], [9, 10, "Material"]]],
    "relations": [[[0, 1, 3, 3, "USED-FOR"]], [[9, 10, 7, 7, "USED-FOR"]]],
    "clusters": [],
}
FEWREL = {
    "P17": [{"tokens": ["Seoul", "lies", "in", "Korea"], "h": ["seoul", "Q1", [[0]]], "t": ["korea", "Q2", [[3]]]}],
    "P36": [
        {"tokens": ["The", "Han", "River", "of", "Seoul"], "h": ["x", "Q3", [[1, 2]]], "t": ["seoul", "Q1", [[4], [4]]]}
    ],
}


def read(tmp_path, record, name="a.jsonl", **options):
    path = tmp_path / name
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return read_relations(path, **{"purpose": "train", **options})


def shown(pair):
    return pair.text[pair.subject.start : pair.subject.end], pair.label, pair.text[pair.object.start : pair.object.end]


def test_every_ordered_pair_of_a_sentence_is_an_example(tmp_path):
    data = read(tmp_path, DOCUMENT)
    assert [shown(pair) for pair in data.pairs] == [
        ("A parser", "USED-FOR", "trees"),
        ("trees", "no_relation", "A parser"),
        ("parsing", "no_relation", "long texts"),
        ("long texts", "USED-FOR", "parsing"),
    ]
    assert data.format == "documents" and data.pairs[0].id == "D:0-1:3-3" and data.pairs[3].id == "D:9-10:7-7"
    assert (data.pairs[0].subject.type, data.pairs[0].object.type) == ("Method", "Task")
    assert data.pairs[2].where.endswith("line 1, sentence 2")


def test_prediction_needs_mentions_and_no_relation(tmp_path):
    plain = {name: DOCUMENT[name] for name in ("doc_key", "sentences", "ner")}
    data = read(tmp_path, plain, purpose="predict")
    assert len(data) == 4 and {pair.label for pair in data.pairs} == {""}


def test_of_two_relations_of_one_pair_the_first_is_taken(tmp_path):
    record = {**DOCUMENT, "relations": [[[0, 1, 3, 3, "A"], [0, 1, 3, 3, "B"]], []]}
    assert shown(read(tmp_path, record).pairs[0])[1] == "A"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ner": [[[0, 1, "Method"]]]}, "line 1: 'ner' needs one list for each of the 2 sentences"),
        ({"ner": [[], [[4, 7, "Task"]]]}, r"sentence 2: words 4 to 7 are not in the sentence, whose words are 5 to 11"),
        ({"relations": [[[0, 1, 3, "X"]], []]}, r"sentence 1: 'relations' holds \[0, 1, 3, 'X'\]; 4 numbers of words"),
        ({"relations": [[[0, 1, 7, 7, "X"]], []]}, "sentence 1: words 7 to 7 are not in the sentence"),
        ({"sentences": ["A parser", "It"]}, "line 1: 'sentences' is no list of lists of words"),
        ({"sentences": [["A", 3, "b", "c"], ["d"] * 8]}, "sentence 1: its entry is no list of words"),
    ],
)
def test_what_is_wrong_is_named_by_sentence(tmp_path, change, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, {**DOCUMENT, **change})


def test_malformed_sentences_may_be_left_out_and_are_counted(tmp_path):
    data = read(tmp_path, {**DOCUMENT, "relations": [[[0, 1, 7, 7, "X"]], []]}, errors="repair")
    assert (len(data), data.num_dropped) == (2, 1)


def test_instances_under_the_names_of_their_relations_are_read(tmp_path):
    data = read(tmp_path, FEWREL, "val.json")
    assert [shown(pair) for pair in data.pairs] == [("Seoul", "P17", "Korea"), ("Han River", "P36", "Seoul")]
    assert data.format == "fewrel" and [pair.id for pair in data.pairs] == ["P17:0", "P36:0"]
    broken = {**FEWREL, "P36": [{"tokens": ["a"], "h": ["x", "Q", [[0]]], "t": ["y", "Q", [[5]]]}]}
    with pytest.raises(DataError, match="P36, entry 1: 't' names words 5 to 5 of 1"):
        read(tmp_path, broken, "val.json")


def test_the_real_file_of_fewrel_is_read_whole(data_folder):
    data = read_relations(data_folder / "re/fewrel/val_wiki.json.xz", purpose="train")
    assert len(data) == 11_200 and len({pair.label for pair in data.pairs}) == 16
