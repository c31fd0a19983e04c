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


def test_objects_are_read_whatever_the_file_is_called(tmp_path):
    for name in ("a.txt", "a"):
        path = tmp_path / name
        path.write_text('{"text": "Ada left.", "subject": [0, 3], "object": [4, 8], "relation": "x"}\n')
        assert read_relations(path, purpose="train").pairs[0].label == "x"


def test_keys_of_the_official_scorers_are_read_without_texts(tmp_path):
    path = tmp_path / "key.txt"
    path.write_text("8001\tCause-Effect(e2,e1)\r\n8002\tOther\r\n")
    key = read_key(path)
    assert [(pair.id, pair.label) for pair in key.pairs] == [("8001", "Cause-Effect(e2,e1)"), ("8002", "Other")]
    path.write_text("a\tborn in\nb\tno_relation\n")  # as predict writes names with a blank
    assert [(pair.id, pair.label) for pair in read_key(path).pairs] == [("a", "born in"), ("b", "no_relation")]
    path.write_text("per:title\nno_relation\n")
    assert [(pair.id, pair.label) for pair in read_key(path).pairs] == [("0", "per:title"), ("1", "no_relation")]
    path.write_text("1\tOther\n1\tOther\n")
    with pytest.raises(DataError, match="an id stands on two lines"):
        read_key(path)
    unlabelled = '8001\t"The <e1>audits</e1> were about <e2>waste</e2>."\n'
    for content in (SEMEVAL, unlabelled, "", "a b c\nd e f\n"):
        path.write_text(content)
        assert read_key(path) is None
    for content in ('{"1":"Other"}', '["Other"]'):
        path.write_text(content)
        assert read_key(path) is None


KBP37 = """1	" <e1> Thom Yorke </e1> of <e2> Radiohead </e2> has included the pedal . "
per:employee_of(e1,e2)

2	" <e1> Ada </e1> met in <e2>  </e2> . "
no_relation

3	" <e1> Ada </e1> left <e2> Seoul </e2> . "
no_relation
"""


def test_one_bad_row_is_named_with_the_cure_and_left_out_and_named_on_request(tmp_path, caplog):
    path = tmp_path / "train.txt"
    path.write_text(KBP37)
    for purpose in ("train", "predict"):
        with pytest.raises(DataError, match=r"train\.txt, line 4: the object .* blanks alone.*--errors repair"):
            read_relations(path, purpose=purpose)
        caplog.clear()
        data = read_relations(path, purpose=purpose, errors="repair")
        assert [pair.id for pair in data.pairs] == ["1", "3"] and data.num_dropped == 1
        assert "line 4: the object" in caplog.text and "--errors" not in caplog.text
    path.write_text("\n".join(KBP37.splitlines()[3:5]))
    with pytest.raises(DataError, match="blanks alone") as raised:  # every row is bad: leaving out is no cure
        read_relations(path, purpose="train")
    assert "--errors" not in str(raised.value)


def test_malformed_examples_may_be_left_out_and_are_counted(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([TACRED, {**TACRED, "id": "b", "obj_end": 7}, {**TACRED, "id": "c"}]))
    data = read_relations(path, purpose="train", errors="repair")
    assert [pair.id for pair in data.pairs] == ["a", "c"] and data.num_dropped == 1
    (tmp_path / "b.txt").write_text(SEMEVAL.replace("<e1>stone</e1>", "stone"))
    data = read_relations(tmp_path / "b.txt", purpose="train", errors="repair")
    assert [pair.id for pair in data.pairs] == ["1"] and data.num_dropped == 1


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


def read_record(tmp_path, record, name="a.jsonl", **options):
    path = tmp_path / name
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return read_relations(path, **{"purpose": "train", **options})


def shown(pair):
    return pair.text[pair.subject.start : pair.subject.end], pair.label, pair.text[pair.object.start : pair.object.end]


def test_every_ordered_pair_of_a_sentence_is_an_example(tmp_path):
    data = read_record(tmp_path, DOCUMENT)
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
    data = read_record(tmp_path, plain, purpose="predict")
    assert len(data) == 4 and {pair.label for pair in data.pairs} == {""}


def test_of_two_relations_of_one_pair_the_first_is_taken(tmp_path):
    record = {**DOCUMENT, "relations": [[[0, 1, 3, 3, "A"], [0, 1, 3, 3, "B"]], []]}
    assert shown(read_record(tmp_path, record).pairs[0])[1] == "A"


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
        read_record(tmp_path, {**DOCUMENT, **change})


def test_malformed_sentences_may_be_left_out_and_are_counted(tmp_path):
    data = read_record(tmp_path, {**DOCUMENT, "relations": [[[0, 1, 7, 7, "X"]], []]}, errors="repair")
    assert (len(data), data.num_dropped) == (2, 1)


def test_instances_under_the_names_of_their_relations_are_read(tmp_path):
    data = read_record(tmp_path, FEWREL, "val.json")
    assert [shown(pair) for pair in data.pairs] == [("Seoul", "P17", "Korea"), ("Han River", "P36", "Seoul")]
    assert data.format == "fewrel" and [pair.id for pair in data.pairs] == ["P17:0", "P36:0"]
    broken = {**FEWREL, "P36": [{"tokens": ["a"], "h": ["x", "Q", [[0]]], "t": ["y", "Q", [[5]]]}]}
    with pytest.raises(DataError, match="P36, entry 1: 't' names words 5 to 5 of 1"):
        read_record(tmp_path, broken, "val.json")


def test_the_real_file_of_fewrel_is_read_whole(data_folder):
    data = read_relations(data_folder / "re/fewrel/val_wiki.json.xz", purpose="train")
    assert len(data) == 11_200 and len({pair.label for pair in data.pairs}) == 16
