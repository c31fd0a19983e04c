"""Tables: quotes, headers, ragged rows, objects."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.files.tables import parsed, read_answers, read_table, text_of, value_of


def write(tmp_path, text, name="a.tsv"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_a_lone_quotation_mark_in_a_tab_file_swallows_nothing(tmp_path):
    path = write(tmp_path, '\ufeffsentence\tlabel\r\n"We agree, he said\t1\r\nIt is 6" wide\t0\r\n')
    table = read_table(path, known=["sentence"])
    assert [row.values for row in table.rows] == [
        {"sentence": '"We agree, he said', "label": "1"},
        {"sentence": 'It is 6" wide', "label": "0"},
    ]
    assert table.columns == ("sentence", "label") and table.rows[1].where.endswith("line 3")


def test_a_tab_file_whose_first_line_is_all_in_quotes_follows_the_rules_of_quotes(tmp_path):
    text = '"text"\t"label"\r\n"one ""two""\tthree"\t"a"\r\n'
    table = read_table(write(tmp_path, text), known=["text"])
    assert [row.values for row in table.rows] == [{"text": 'one "two"\tthree', "label": "a"}]


def test_a_comma_file_follows_the_rules_of_quotes(tmp_path):
    text = 'text,label\r\n"one, ""two""\nthree",a\r\nfour,b\r\n'
    table = read_table(write(tmp_path, text, "a.csv"), known=["text"])
    assert [row.values["text"] for row in table.rows] == ['one, "two"\nthree', "four"]
    assert table.rows[1].where.endswith("line 4")
    with pytest.raises(DataError, match="line 2: not CSV"):
        read_table(write(tmp_path, 'text,label\n"open,a\n', "b.csv"), known=["text"])


def test_a_csv_of_one_column_follows_the_rules_of_quotes_too(tmp_path):
    path = write(tmp_path, 'text\n"It was\n""awful""."\nfine\n', "one.csv")
    assert [row.values["text"] for row in read_table(path, known=["text"]).rows] == ['It was\n"awful".', "fine"]
    for lines in (["Good, really", "fine"], ['"Hello" she said', "text"], ['" unclosed', "fine"]):  # as lines
        path = write(tmp_path, "\n".join(["text", *lines, ""]), "plain.csv")
        assert [row.values["text"] for row in read_table(path, known=["text"]).rows] == lines


def test_a_csv_that_is_parted_by_tabs_is_read_as_such(tmp_path):
    table = read_table(write(tmp_path, 'a\t0\t5.0\the said, "x\ty\n', "sts.csv"))
    assert table.columns == ()
    assert table.rows[0].values == {"0": "a", "1": "0", "2": "5.0", "3": 'he said, "x', "4": "y"}


def test_rows_of_other_lengths_are_named_or_left_out_and_counted(tmp_path):
    path = write(tmp_path, "a\tb\n1\t2\t\t\n\n3\n4\t5\t6\n7\t8\n")
    with pytest.raises(DataError, match=r"line 4: 1 columns, and the header names 2.*--errors repair"):
        read_table(path, header=True)
    table = read_table(path, header=True, errors="repair")
    assert [row.values["a"] for row in table.rows] == ["1", "7"] and table.num_dropped == 2


def test_a_header_inside_the_table_is_no_row(tmp_path):
    path = write(tmp_path, "a\tb\n1\t2\na\tb\n3\t4\n")
    with pytest.raises(DataError, match=r"line 3: the header stands here again .*--errors repair"):
        read_table(path, header=True)
    table = read_table(path, header=True, errors="repair")
    assert [row.values["a"] for row in table.rows] == ["1", "3"] and table.num_dropped == 1
    assert len(read_table(path, header=False).rows) == 4


def test_objects_come_as_lines_or_as_a_list(tmp_path):
    records = [{"text": "one", "labels": {"real": 2}}, {"text": "two"}]
    lines = write(tmp_path, "\n".join(map(json.dumps, records)) + "\n\n", "a.jsonl")
    whole = write(tmp_path, json.dumps(records, indent=1), "a.json")
    for path in (lines, whole):
        table = read_table(path)
        assert value_of(table.rows[0], "labels.real") == 2
        with pytest.raises(DataError, match=r"no column .labels\.real.; it has text"):
            value_of(table.rows[1], "labels.real")
    with pytest.raises(DataError, match=r"line 2.*not JSON"):
        read_table(write(tmp_path, '{"a": 1}\n{"a": }\n', "b.jsonl"))
    with pytest.raises(DataError, match="entry 1: expected an object"):
        read_table(write(tmp_path, "[3]", "b.json"))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "empty"), ("\n \n", "empty"), ("a\ta\n1\t2\n", "two columns are called 'a'"), ("a\0b", "null character")],
)
def test_what_is_no_table_is_named(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read_table(write(tmp_path, text), header=True)


def test_texts_must_be_there(tmp_path):
    row = read_table(write(tmp_path, "txet\tlabel\n \t1\n"), header=True).rows[0]
    with pytest.raises(DataError, match=r"line 2: no column 'text'; it has txet, label.*'txet'"):
        text_of(row, "text")
    with pytest.raises(DataError, match="'txet' is empty"):
        text_of(row, "txet")
    number = read_table(write(tmp_path, '{"text": 3}', "c.jsonl")).rows[0]
    with pytest.raises(DataError, match="holds 3; a text was expected"):
        text_of(number, "text")


def test_rows_that_are_refused_stop_the_reading_or_are_left_out_and_counted():
    def parse(row):
        if row < 0:
            raise DataError(f"row {row}")
        return row * 2

    assert parsed([1, -1, 2, -2], parse, "repair") == ([2, 4], 2)
    for rows in ([1, -1], [-1, 1]):
        with pytest.raises(DataError, match=r"--errors repair"):
            parsed(rows, parse, "strict")
    with pytest.raises(DataError) as raised:
        parsed([-1, -2], parse, "strict")
    assert "--errors" not in str(raised.value)
    with pytest.raises(DataError, match="row -1"):
        parsed([1, -1, 2], parse, "strict")


def test_objects_hold_answers_or_records_of_them_and_tables_may_have_a_header(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"1": "a", "2": {"score": 3, "label": "b"}, "3": {"other": 1}}))
    assert read_answers(path, "label", what="label") == {"1": "a", "2": "b", "3": None}
    table = tmp_path / "p.tsv"
    table.write_text("index\tprediction\n1\ta\n\n2\tb\n")
    assert read_answers(table, what="label") == {"1": "a", "2": "b"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.json", "[1]", "expected an object of id to choice, got a list"),
        ("p.tsv", "1\ta\tb\n", "line 1: 3 columns; a JSON object of id to choice, or lines of an id"),
        ("p.tsv", "1\ta\n1\tb\n", "an id stands on two lines"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        read_answers(tmp_path / name, what="choice")
