"""Layouts of known data sets, and those found by the columns."""

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.classification.layouts import DATA_SETS, GENERAL, find_data_set, find_layout, header_names
from spanwise.tasks.files.tables import Row, Table, read_table

GLUE = {
    "cola": ["3", "1"],
    "sst-2": ["sentence", "label"],
    "mrpc": ["#1 String", "#2 String", "Quality"],
    "sts-b": ["sentence1", "sentence2", "score"],
    "qqp": ["question1", "question2", "is_duplicate"],
    "mnli": ["sentence1", "sentence2", "gold_label"],
    "qnli": ["question", "sentence", "label"],
    "rte": ["sentence1", "sentence2", "label"],
    "wnli": ["sentence1", "sentence2", "label"],
}


def table(*names, columns=True):
    values = {name: "1" for name in names}
    return Table(source="x.tsv", columns=names if columns else (), rows=(Row(values, "x.tsv, line 2"),))


def test_the_nine_glue_tasks_have_a_layout_of_their_files_columns():
    for name, columns in GLUE.items():
        if name == "cola":
            found = find_layout(table("0", "1", "2", "3", columns=False), DATA_SETS[name].layouts, with_label=True)
        else:
            found = find_layout(table("index", *columns), DATA_SETS[name].layouts, with_label=True)
        assert [column for column in (found.text, found.pair, found.label) if column] == columns, name


def test_every_data_set_is_scored_by_something():
    assert all(data_set.metrics and data_set.layouts for data_set in DATA_SETS.values())
    assert find_data_set("cola").metrics[0] == "mcc" and find_data_set("korsts").kind == "regression"
    with pytest.raises(ConfigError, match=r"no data set 'sst2'.*'sst-2'"):
        find_data_set("sst2")


def test_a_file_of_no_known_columns_names_those_it_has():
    with pytest.raises(DataError, match=r"it has frase, etiqueta.*task\.text=COLUMN"):
        find_layout(table("frase", "etiqueta"), GENERAL, with_label=True)
    with pytest.raises(DataError, match="a header and no row"):
        find_layout(Table(source="x", columns=("text",), rows=()), GENERAL, with_label=True)
    assert find_layout(table("id", "document", "label"), GENERAL, with_label=True).text == "document"
    assert find_layout(table("premise", "hypothesis"), GENERAL, with_label=False).pair == "hypothesis"
    assert "gold_label" in header_names(GENERAL) and "3" not in header_names(DATA_SETS["cola"].layouts)


def test_a_row_of_text_is_not_taken_for_the_columns_of_a_file_without_header():
    layouts = DATA_SETS["sts-b"].layouts
    words = {str(number): "word" for number in range(7)}
    with pytest.raises(DataError, match="not known"):
        find_layout(Table(source="x", columns=(), rows=(Row(words, "x"),)), layouts, with_label=True)


def test_the_first_line_of_a_file_without_known_columns_is_shown(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Satz\tUrteil\nEs regnet.\tja\n")
    with pytest.raises(DataError, match=r"it has 0, 1 \(first line: Satz \| Urteil\)\. Name them in finetune"):
        find_layout(read_table(path), GENERAL, with_label=True)


@pytest.mark.parametrize("header", ["Premise\tHypothesis\tLabel", "PREMISE\thypothesis\tlabel"])
def test_columns_are_known_in_any_capitals(tmp_path, header):
    path = tmp_path / "a.tsv"
    path.write_text(f"{header}\nEs regnet.\tEs ist nass.\tja\n")

    for layouts in (GENERAL, DATA_SETS["mnli"].layouts):
        file = read_table(path, known=header_names(layouts))
        layout = find_layout(file, layouts, with_label=True)
        assert [layout.text, layout.pair, layout.label] == header.split("\t") and len(file.rows) == 1


def test_of_two_columns_that_differ_in_capitals_the_layouts_own_is_read():
    found = find_layout(table("Text", "text", "label"), GENERAL, with_label=True)
    assert found.text == "text"
