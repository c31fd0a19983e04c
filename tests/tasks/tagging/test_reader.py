"""Tagged files of every kind as texts with units."""

import json

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.tagging.reader import read_tagged
from spanwise.tasks.tagging.spans import Span

KLUE = "## id-1\t<강:LC>은 길다\n강\tB-LC\n은\tO\n \tO\n길\tO\n다\tO\n\n## id-2\tx\n서\tB-LC\n울\tI-LC\n"


def read(tmp_path, text, name="a.txt", purpose="train", **options):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_tagged(path, purpose=purpose, **options)


def test_words_are_joined_by_blanks_and_keep_their_places(tmp_path):
    data = read(tmp_path, "The DT O\r\nHan NNP B-LOC\r\nRiver NNP I-LOC\r\n\r\nIt PRP O\r\n")
    first = data.sentences[0]
    assert (first.text, first.units, first.where.endswith("line 1")) == (
        "The Han River",
        ((0, 3), (4, 7), (8, 13)),
        True,
    )
    assert first.spans() == [Span(4, 13, "LOC")] and (data.level, data.kind, len(data)) == ("words", "entities", 2)
    assert read(tmp_path, "a DT O\nb NN B-X\n", column="1").kind == "classes"


def test_files_of_characters_keep_their_blanks(tmp_path):
    data = read(tmp_path, KLUE)
    assert (data.level, [s.text for s in data.sentences]) == ("characters", ["강은 길다", "서울"])
    assert [s.spans() for s in data.sentences] == [[Span(0, 1, "LC")], [Span(0, 2, "LC")]]
    bare = read(tmp_path, "강\n은\n길\n", purpose="predict", level="characters")
    assert bare.sentences[0].text == "강은길" and bare.sentences[0].tags == ()


def test_conllu_gives_the_text_as_it_was_written(tmp_path):
    rows = [("1", "It", "PRON", "_"), ("2", "rains", "VERB", "SpaceAfter=No"), ("3", ".", "PUNCT", "_")]
    text = "# text = It rains.\n" + "\n".join(
        "\t".join([n, w, "_", t, "X", "_", "_", "_", "_", m]) for n, w, t, m in rows
    )
    data = read(tmp_path, text, "a.conllu")
    assert data.sentences[0].text == "It rains." and data.sentences[0].tags == ("PRON", "VERB", "PUNCT")
    assert data.kind == "classes" and set(read(tmp_path, text, column="xpos").sentences[0].tags) == {"X"}
    with pytest.raises(ConfigError, match=r"no column 'upo'.*'upos'"):
        read(tmp_path, text, column="upo")


def test_objects_hold_tokens_with_tags_or_a_text_with_spans(tmp_path):
    lines = '{"tokens": ["a", "b"], "ner_tags": ["O", "B-X"]}\n'
    assert read(tmp_path, lines, "a.jsonl").sentences[0].spans() == [Span(2, 3, "X")]
    record = {"text": "👩‍🔬 in Séoul", "spans": [{"start": 7, "end": 12, "label": "LOC"}]}
    data = read(tmp_path, json.dumps([record]), "a.json")
    assert data.level == "characters" and data.sentences[0].spans() == [Span(7, 12, "LOC")]


@pytest.mark.parametrize("purpose", ["train", "predict"])
def test_objects_of_two_forms_are_refused_by_the_first_row_of_the_other(tmp_path, purpose):
    texts = [{"text": name, "spans": []} for name in ("Ada", "Han")]
    tokens = [{"tokens": ["Ada"], "tags": ["B-PER"]}]
    for rows, held, line in ((texts + tokens, "'tokens' and 'tags', and rows before it hold 'text'", 3),
                             (tokens + texts, "'text' and 'spans', and rows before it hold 'tokens'", 2)):  # fmt: skip
        content = "\n".join(map(json.dumps, rows))
        with pytest.raises(DataError, match=f"line {line}: holds {held}"):
            read(tmp_path, content, "a.jsonl", purpose=purpose)
    data = read(tmp_path, "\n".join(map(json.dumps, [{"x": 1}, *texts, *tokens])), "a.jsonl", errors="repair")
    assert (data.level, len(data), data.num_dropped) == ("characters", 2, 2)


def test_a_level_that_a_model_has_is_that_of_any_file(tmp_path):
    record = {"text": "Ada lives in Seoul.", "spans": [{"start": 13, "end": 18, "label": "LOC"}]}
    data = read(tmp_path, json.dumps([record]), "a.json", level="words")
    assert data.level == "words" and data.sentences[0].tags == ("O", "O", "O", "B-LOC", "O")
    bare = read(tmp_path, json.dumps([record]), "a.json", level="words", purpose="predict", kind="classes")
    assert len(bare.sentences[0].units) == 5 and not bare.sentences[0].tags
    words = read(tmp_path, "Han B-LOC\nRiver I-LOC\n", level="characters")
    assert words.level == "characters" and len(words.sentences[0].units) == 9
    assert words.sentences[0].spans() == [Span(0, 9, "LOC")]
    assert read(tmp_path, "서\tB-LC\n울\tI-LC\n", level="characters").sentences[0].text == "서울"
    assert read(tmp_path, KLUE, level="words", errors="repair").num_dropped == 1  # 강은 has 강
    with pytest.raises(DataError, match="tells the class of words, and characters are wanted"):
        read(tmp_path, "ab DT\ncd NN\n", level="characters")


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("a\tX\nb\tY\n \tX\nc\tY\n", "a.txt", {}),  # a blank among single signs
        ("a\tX\nb\tY\n \tX\nc\tY\n", "a.txt", {"level": "words"}),
        ("a\tX\nb\tY\n", "a.txt", {"level": "characters"}),
        (KLUE, "a.txt", {"kind": "classes"}),
        ('{"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n', "a.jsonl", {"kind": "classes"}),
    ],
)
def test_classes_of_characters_are_no_training_data(tmp_path, text, name, options):
    with pytest.raises(DataError, match=r"class of each character, and models are taught classes of words.*Tag words"):
        read(tmp_path, text, name, **options)
    if options != {"level": "words"}:
        assert read(tmp_path, text, name, purpose="score", **options).kind == "classes"


def test_single_signs_without_blanks_are_words_of_a_class(tmp_path):
    data = read(tmp_path, "a\tX\nb\tY\n")
    assert (data.level, data.kind) == ("words", "classes")


def test_lines_of_text_are_texts_where_a_file_is_read_for_prediction(tmp_path):
    texts = "Ada Lovelace lives in Seoul.\n\nShe works.\n"
    for name in ("a.txt", "a.md"):
        data = read(tmp_path, texts, name, purpose="predict")
        assert [s.text for s in data.sentences] == ["Ada Lovelace lives in Seoul.", "She works."]
        assert data.sentences[1].units == ((0, 3), (4, 9), (9, 10)) and data.sentences[1].where.endswith("line 3")
    for kind in ("entities", "classes"):
        assert read(tmp_path, "Ada lives\nBob works\n", purpose="predict", kind=kind).sentences[1].text == "Bob works"
        one = read(tmp_path, "The dog barks loudly .\n", purpose="predict", kind=kind).sentences
        assert [s.text for s in one] == ["The dog barks loudly ."] and len(one[0].units) == 5
    tabs = "The dog\tbarks .\n\nAnna went to Rome\n"
    assert [s.text for s in read(tmp_path, tabs, purpose="predict").sentences][1] == "Anna went to Rome"
    by_character = read(tmp_path, texts, purpose="predict", level="characters")
    assert len(by_character.sentences[1].units) == len("She works.")
    columns = "Ada NNP B-PER\nlives VBZ O\n"  # stays a file of columns, of classes too
    assert read(tmp_path, columns, purpose="predict").sentences[0].text == "Ada lives"
    for options in ({"name": "a.conll"}, {"kind": "classes"}, {}, {"column": "1"}):
        assert read(tmp_path, "Ada NNP\nlives VBZ\n", purpose="predict", **options).sentences[0].text == "Ada lives"
    for first in ("-DOCSTART- -X- O\n\n", "# sent_id = 1\n"):
        data = read(tmp_path, first + "Ada B-PER NNP\nlives O VBZ\n", purpose="predict")
        assert [s.text for s in data.sentences] == ["Ada lives"]
    assert read(tmp_path, "one two\nthree four\n", purpose="predict", word_column=1).sentences[0].text == "two four"


def test_tags_of_a_file_that_is_predicted_do_not_matter(tmp_path):
    korean = read(tmp_path, KLUE, purpose="predict", level="words", name="a.tsv")  # 강은 has 강
    assert [s.text for s in korean.sentences] == ["강은 길다", "서울"] and korean.num_dropped == 0
    classes = read(tmp_path, "ab DT\ncd NN\n", purpose="predict", level="characters", name="a.conll")
    assert len(classes.sentences[0].units) == 5


def test_a_mistyped_tag_makes_no_file_of_word_classes(tmp_path):
    text = "Ada B-PER\nlives O\n\nin O\nSeoul B_LOC\n"
    with pytest.raises(DataError, match=r"line 4, word 2 \('Seoul'\): 'B_LOC' is no tag .* as 3 of 4 tags .*kind=cl"):
        read(tmp_path, text)
    chunks = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP BPER\nsleeps VBZ B-VP O\n"
    with pytest.raises(DataError, match=r"line 4, word 1 \('Peter'\): 'BPER' is no tag"):
        read(tmp_path, chunks)
    with pytest.raises(DataError, match=r"'B_LOC' is no tag .* name another task.column"):
        read(tmp_path, text, kind="entities")
    kept = read(tmp_path, text, errors="repair")
    assert (kept.kind, len(kept), kept.num_dropped) == ("entities", 1, 1)
    assert read(tmp_path, text, kind="classes").kind == "classes" and len(read(tmp_path, text, purpose="predict")) == 2


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "a.txt", "no sentence"),
        ("a\tO\nb\nc\tO", "a.txt", r"line 2: 1 columns \(b\); the tag was expected in column 1"),
        ("\tO\na\tB-X\n", "a.txt", "the word in column 0"),
        ('{"tokens": ["a"], "tags": ["O", "O"]}', "a.jsonl", "1 tokens need a list 'tags'"),
        ('{"tokens": []}', "a.jsonl", "expected 'text' and 'spans'"),
        ('{"text": "abc"}', "a.jsonl", "a list 'spans'"),
        ('{"text": "abc", "spans": [{"start": 1, "end": 9, "label": "x"}]}', "a.jsonl", "1:9 is empty or outside"),
        ('{"text": "abc", "spans": [{"start": 1, "end": true, "label": "x"}]}', "a.jsonl", "a span needs"),
        (
            '{"text": "abc", "spans": [{"start": 1, "end": 3, "label": "x"}, {"start": 0, "end": 2, "label": "y"}]}',
            "a.jsonl",
            r"0:2 \(y\) and 1:3 \(x\) overlap",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, text, name, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text, name)


def test_a_column_by_name_is_one_of_conllu(tmp_path):
    with pytest.raises(ConfigError, match="a name of CoNLL-U"):
        read(tmp_path, "a\tO\n", column="upos")


def test_the_real_files_have_the_published_numbers_of_sentences(data_folder):
    for path, number, level, kind in (
        ("tagging/ud_en_ewt/dev.conllu.xz", 2001, "words", "classes"),
        ("tagging/conll2000/test.txt.xz", 2012, "words", "entities"),
        ("tagging/wnut17/emerging.dev.conll", 1009, "words", "entities"),
        ("tagging/wikiann_en/dev.txt.xz", 10000, "words", "entities"),
        ("tagging/uner_en_ewt/dev.iob2.xz", 2001, "words", "entities"),
        ("ko/klue_ner/part_dev.tsv.xz", 500, "characters", "entities"),
        ("ko/ud_gsd/dev.conllu.xz", 950, "words", "classes"),
    ):
        data = read_tagged(data_folder / path, purpose="train")
        assert (len(data), data.level, data.kind) == (number, level, kind), path


def test_malformed_sentences_may_be_left_out_and_are_counted(tmp_path):
    data = read(tmp_path, "a O\nb O\n\nc\n\nd B-X\n", errors="repair")
    assert [sentence.text for sentence in data.sentences] == ["a b", "d"] and data.num_dropped == 1
    rows = [{"text": "ab", "spans": []}, {"text": "ab", "spans": [{"start": 1, "end": 5, "label": "X"}]}]
    data = read(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl", errors="repair")
    assert len(data) == 1 and data.num_dropped == 1
    with pytest.raises(DataError, match="no sentence in it"):
        read(tmp_path, "a\t\nb\tO\n", errors="repair")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a film of the year\t1\nno film at all\t0\n", "holds texts of several words"),
        ("sentence1\tsentence2\tlabel\na\tb\tx\n", "this is no file of tags"),
        ("\tO\na\tO\n", "line 1: the word in column 0, counted from 0, is empty"),
    ],
)
def test_tables_of_texts_are_not_read_as_words(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text)
