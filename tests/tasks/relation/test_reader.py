"""Relation files of every form: mentions at their characters, and what is wrong named with its place."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.relation.pairs import Mention
from spanwise.tasks.relation.reader import read_key, read_relations

TACRED = {
    "id": "a",
    "relation": "per:city",
    "token": ["Ada", "-LRB-", "born", "in", "New", "York", "-RRB-"],
    "subj_start": 0,
    "subj_end": 0,
    "obj_start": 4,
    "obj_end": 5,
    "subj_type": "PERSON",
    "obj_type": "CITY",
}
SEMEVAL = (
    '1\t"The <e1>river</e1> has an old <e2>bridge</e2>."\r\nComponent-Whole(e2,e1)\r\nComment: none\r\n\r\n'
    '2\t"An <e2>effect</e2> of \\"rain\\" on <e1>stone</e1>."\r\nCause-Effect(e1,e2)\r\nComment:\r\n'
)


def read(tmp_path, content, name="a.json", purpose="train"):
    path = tmp_path / name
    path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return read_relations(path, purpose=purpose)


def texts(pair):
    return pair.text[pair.subject.start : pair.subject.end], pair.text[pair.object.start : pair.object.end]


def test_tacred_words_become_a_text_with_its_brackets(tmp_path):
    data = read(tmp_path, [TACRED])
    (pair,) = data.pairs
    assert pair.text == "Ada ( born in New York )" and texts(pair) == ("Ada", "New York") and data.format == "tacred"
    assert (pair.subject.type, pair.object.type, pair.label, pair.id) == ("PERSON", "CITY", "per:city", "a")


def test_semeval_marks_are_taken_out_and_directions_kept(tmp_path):
    data = read(tmp_path, SEMEVAL, "a.TXT")
    assert [texts(pair) for pair in data.pairs] == [("river", "bridge"), ("stone", "effect")]
    assert [pair.label for pair in data.pairs] == ["Component-Whole(e2,e1)", "Cause-Effect(e1,e2)"]
    assert data.pairs[0].text == "The river has an old bridge." and data.format == "semeval"
    clean = read(tmp_path, SEMEVAL.split("\r\n")[0], "b.txt", purpose="predict")
    assert clean.pairs[0].label == "" and clean.pairs[0].id == "1"


def test_scierc_marks_are_those_with_blanks(tmp_path):
    row = {"text": "A << model >> with [[(1,1)]] and [[ loss<<x ]] .", "label": "USED-FOR"}
    data = read(tmp_path, json.dumps(row), "a.jsonl")
    assert texts(data.pairs[0]) == ("loss<<x", "model") and data.pairs[0].text == "A model with [[(1,1)]] and loss<<x ."


def test_klue_and_plain_objects_give_characters(tmp_path):
    entity = {"word": "서울", "start_idx": 0, "end_idx": 1, "type": "LOC"}
    other = {"word": "한강", "start_idx": 4, "end_idx": 5, "type": "LOC"}
    klue = {"guid": "k", "sentence": "서울의 한강", "subject_entity": entity, "object_entity": other, "label": "x"}
    assert texts(read(tmp_path, [klue]).pairs[0]) == ("서울", "한강")
    plain = {
        "text": "👍 Ada and Bob",
        "subject": [2, 5],
        "object": {"start": 10, "end": 13, "type": "PER"},
        "label": "x",
    }
    pair = read(tmp_path, json.dumps(plain), "a.jsonl").pairs[0]
    assert texts(pair) == ("Ada", "Bob") and pair.object == Mention(10, 13, "PER")


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ([{**TACRED, "obj_end": 7}], "a.json", "entry 1: the object is words 4 to 7 of 7"),
        ([{**TACRED, "subj_start": True}], "a.json", "the subject is words True"),
        ([{**TACRED, "token": []}], "a.json", "'token' is no list of words"),
        ([{k: v for k, v in TACRED.items() if k != "relation"}], "a.json", "'relation' is None"),
        ([TACRED, TACRED], "a.json", "the id 'a' stands twice"),
        ('{"text": "a [[ b ]] c", "label": "x"}', "a.jsonl", "found 1 and 0"),
        ('{"text": "a [[ b << c ]] d >>", "label": "x"}', "a.jsonl", "lie in one another"),
        (
            '{"text": "a b", "subject": [0, 9], "object": [2, 3], "label": "x"}',
            "a.jsonl",
            "subject 0:9 is empty or outside",
        ),
        ('{"text": "a  b", "subject": [1, 3], "object": [3, 4], "label": "x"}', "a.jsonl", "holds blanks alone"),
        ('{"text": "a b", "subject": [0], "object": [2, 3], "label": "x"}', "a.jsonl", "'subject' needs 'start'"),
        ('{"words": []}', "a.jsonl", "its form is not known; it has words"),
        ('1\t"a <e1>b</e1> c"\nX(e1,e2)\n', "a.txt", "line 1: one <e2>mention</e2>"),
        ('1\t"<e1>a</e1> <e2>c</e2>"\n', "a.txt", "line 1: no relation stands on the line below"),
        ("nothing", "a.txt", "no example"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, content, name, words):
    with pytest.raises(DataError, match=words.replace("(", r"\(")):
        read(tmp_path, content, name)


def test_the_real_files_have_the_published_numbers_of_examples(data_folder):
    for path, number, form in (
        ("re/semeval2010_task8/TRAIN_FILE.TXT.xz", 8000, "semeval"),
        ("re/semeval2010_task8/TEST_FILE_FULL.TXT.xz", 2717, "semeval"),
        ("re/tacred_format/train.json.xz", 3675, "tacred"),
        ("re/scierc/train.jsonl.xz", 3219, "marked"),
        ("re/chemprot/train.jsonl.xz", 4169, "marked"),
    ):
        data = read_relations(data_folder / path, purpose="train")
        assert (len(data), data.format) == (number, form), path


def test_keys_of_the_official_scorers_are_read_without_texts(tmp_path):
    path = tmp_path / "key.txt"
    path.write_text("8001\tCause-Effect(e2,e1)\r\n8002\tOther\r\n")
    key = read_key(path)
    assert [(pair.id, pair.label) for pair in key.pairs] == [("8001", "Cause-Effect(e2,e1)"), ("8002", "Other")]
    path.write_text("per:title\nno_relation\n")
    assert [(pair.id, pair.label) for pair in read_key(path).pairs] == [("0", "per:title"), ("1", "no_relation")]
    path.write_text("1\tOther\n1\tOther\n")
    with pytest.raises(DataError, match="an id stands on two lines"):
        read_key(path)
    for content in (SEMEVAL, "", "a b c\nd e f\n"):
        path.write_text(content)
        assert read_key(path) is None
    assert read_key(tmp_path / "a.json") is None


def test_malformed_examples_may_be_left_out_and_are_counted(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([TACRED, {**TACRED, "id": "b", "obj_end": 7}, {**TACRED, "id": "c"}]))
    data = read_relations(path, purpose="train", errors="repair")
    assert [pair.id for pair in data.pairs] == ["a", "c"] and data.num_dropped == 1
    (tmp_path / "b.txt").write_text(SEMEVAL.replace("<e1>stone</e1>", "stone"))
    data = read_relations(tmp_path / "b.txt", purpose="train", errors="repair")
    assert [pair.id for pair in data.pairs] == ["1"] and data.num_dropped == 1
