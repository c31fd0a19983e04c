"""Files of known data sets and of anyone's own, read to texts and labels."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.classification.layouts import DATA_SETS, GENERAL, Layout
from spanwise.tasks.classification.reader import label_order, read_texts


def read(tmp_path, text, dataset=None, *, name="a.tsv", purpose="train", kind=None, **options):
    path = tmp_path / name
    path.write_bytes(text.encode())
    layouts = DATA_SETS[dataset].layouts if dataset else GENERAL
    kind = kind or (DATA_SETS[dataset].kind if dataset else None)
    return read_texts(path, layouts, purpose=purpose, kind=kind, **options)


def test_cola_is_read_with_and_without_its_header(tmp_path):
    bare = read(tmp_path, "src\t1\t\tThe cat sat.\nsrc\t0\t*\tCat the sat.\n", "cola")
    test = read(tmp_path, "index\tsentence\n7\tThe dog ran.\n", "cola", purpose="predict")
    assert (bare.texts, bare.labels, bare.pairs) == (("The cat sat.", "Cat the sat."), ("1", "0"), None)
    assert (test.texts, test.ids, test.labels) == (("The dog ran.",), ("7",), ())


def test_sts_b_is_read_as_glue_and_as_its_makers_write_it(tmp_path):
    bare = read(tmp_path, 'g\tf\t2012\t1\t3.8\tA "man.\tA boy.\tlicence\tmore\ng\tf\t2012\t1\t0\tX.\tY.\n', "sts-b")
    named = read(
        tmp_path, "genre\tfilename\tyear\tid\tscore\tsentence1\tsentence2\ng\tf\t2\t1\t4.000\t가\t나\n", "korsts"
    )
    assert (bare.labels, bare.texts[0], bare.pairs[1], bare.kind) == ((3.8, 0.0), 'A "man.', "Y.", "regression")
    assert (named.labels, named.texts, named.pairs, named.ids) == ((4.0,), ("가",), ("나",), ("1",))


def test_pairs_without_an_agreed_label_are_left_out_and_counted(tmp_path):
    rows = "sentence1\tsentence2\tgold_label\na\tb\tneutral\nc\td\t-\ne\tf\tentailment\n"
    data = read(tmp_path, rows, "mnli")
    assert data.labels == ("neutral", "entailment") and data.num_dropped == 1 and len(data) == 2
    assert len(read(tmp_path, rows, "mnli", purpose="predict")) == 3


def test_json_lists_and_lines_give_nested_numbers_and_many_labels(tmp_path):
    sts = [{"guid": "g", "sentence1": "a", "sentence2": "b", "labels": {"real-label": 3.4, "binary-label": 1}}]
    assert read(tmp_path, json.dumps(sts), "klue-sts", name="a.json").labels == (3.4,)
    lines = '{"text": "a", "labels": ["x", "y"]}\n{"text": "b", "labels": []}\n'
    data = read(tmp_path, lines, name="a.jsonl")
    assert data.kind == "multi_label" and data.labels == (("x", "y"), ())
    parted = read(tmp_path, "text\tlabel\na\tx|y\nb\ty\n", label_separator="|")
    assert parted.labels == (("x", "y"), ("y",))


def test_a_minus_is_a_label_where_no_annotators_disagree(tmp_path):
    data = read(tmp_path, "text\tlabel\na\t+\nb\t-\n")
    assert data.labels == ("+", "-") and data.num_dropped == 0


def test_an_empty_cell_is_no_label_at_all_where_an_example_may_have_several(tmp_path):
    data = read(tmp_path, "text\tlabel\na\tx|y\nb\t\n", label_separator="|")
    assert data.labels == (("x", "y"), ()) and data.num_dropped == 0
    assert read(tmp_path, "text\tlabel\na\tx\nb\t\n").num_dropped == 1


def test_column_names_are_found_whatever_their_case(tmp_path):
    data = read(tmp_path, "Premise\tHYPOTHESIS\tLabel\na\tb\tno\n")
    assert (data.texts, data.pairs, data.labels) == (("a",), ("b",), ("no",))
    assert read(tmp_path, '{"Text": "a", "Label": "x"}\n', name="a.jsonl").labels == ("x",)


@pytest.mark.parametrize(
    ("labels", "kind"), [(["1", "0"], "single_label"), (["1.5", "0"], "regression"), (["1.5", "x"], "single_label")]
)
def test_numbers_with_a_point_are_numbers_and_whole_ones_are_labels(tmp_path, labels, kind):
    rows = "".join(f"a\t{label}\n" for label in labels)
    assert read(tmp_path, f"text\tlabel\n{rows}").kind == kind


def test_true_and_false_are_one_label_each_however_written(tmp_path):
    rows = "ID\tText\tQuestion\tAnswer\r\n1\ta\tb\tTrue\r\n2\tc\td\tFALSE\r\n3\te\tf\tTRUE\r\n"
    assert read(tmp_path, rows, "kobest-boolq").labels == ("true", "false", "true")


def test_ids_that_repeat_give_way_to_numbers(tmp_path):
    assert read(tmp_path, "id\ttext\tlabel\n4\ta\tx\n4\tb\ty\n").ids == ("0", "1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("text\tgold_label\na\t-\n", "no row has a label"),
        ("sentence1\tsentence2\tscore\na\tb\thigh\n", "line 2: column 'score' holds 'high'; a number"),
        ("text\tlabel\na\tx\n\ty\n", "line 3: column 'text' is empty"),
    ],
)
def test_rows_that_cannot_be_learnt_from_are_named(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text, "korsts" if "score" in text else None)


@pytest.mark.parametrize("value", ["null", '{"a": 1}'])
def test_what_is_no_list_of_labels_is_refused_where_an_example_may_have_several(tmp_path, value):
    rows = '{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": []}\n' + f'{{"text": "c", "labels": {value}}}\n'
    with pytest.raises(DataError, match=r"line 3: column 'labels' holds .*; a list of labels was expected, an empty"):
        read(tmp_path, rows, name="a.jsonl")
    found = read(tmp_path, rows, name="a.jsonl", errors="repair")
    assert (found.labels, found.num_dropped) == ((("x",), ()), 1)


@pytest.mark.parametrize("dataset", [None, "nsmc", "cola"])
def test_a_list_of_texts_may_be_predicted_whatever_was_learnt(tmp_path, dataset):
    lines = '정말, 좋은 영화였다.\r\n\n \nA "quiet" film, and a long one'
    found = read(tmp_path, lines, dataset, name="a.txt", purpose="predict")
    assert found.texts == ("정말, 좋은 영화였다.", 'A "quiet" film, and a long one')
    assert (found.ids, found.pairs, found.labels) == (("0", "1"), None, ())
    assert [place.rsplit(", ", 1)[1] for place in found.places] == ["line 1", "line 4"]


def test_a_table_that_is_called_txt_stays_a_table(tmp_path):
    named = read(tmp_path, "id,document,label\n7,A film.,1\n", "nsmc", name="a.txt", purpose="predict")
    tabs = read(tmp_path, "id\tdocument\n7\tA film.\n", "nsmc", name="b.txt", purpose="predict")
    numbered = [Layout("1", None, "0", num_columns=2)]
    (tmp_path / "c.txt").write_text("1,A film.\n")
    bare = read_texts(tmp_path / "c.txt", numbered, purpose="predict", kind=None)
    assert named.texts == tabs.texts == bare.texts == ("A film.",) and named.ids == tabs.ids == ("7",)
    quoted = read(tmp_path, '"document","label"\n"A film.","1"\n', "nsmc", name="d.txt", purpose="predict")
    objects = read(tmp_path, '{"text": "A film."}\n', name="e.txt", purpose="predict")
    assert quoted.texts == objects.texts == ("A film.",)
    with pytest.raises(DataError, match="which columns hold the texts"):
        read(tmp_path, '"A film.","1"\n', name="f.txt", purpose="predict")
    with pytest.raises(DataError, match="which columns hold the texts and the label"):
        read(tmp_path, "A film.\nAnother.\n", name="g.txt")


def test_a_comma_in_a_text_of_a_file_without_header_cuts_nothing_silently(tmp_path):
    told = [Layout("0", None, "1", num_columns=2, is_told=True)]
    path = tmp_path / "a.csv"
    path.write_text("A film,pos\nShort, but good,pos\n")
    with pytest.raises(DataError, match=r"line 2: 3 columns, and the first line has 2.*a comma inside"):
        read_texts(path, told, purpose="train", kind=None)
    found = read_texts(path, told, purpose="train", kind=None, errors="repair")
    assert (found.texts, found.labels, found.num_dropped) == (("A film",), ("pos",), 1)


def test_labels_that_are_no_names_or_stand_twice_are_refused(tmp_path):
    with pytest.raises(DataError, match="names a label twice"):
        read(tmp_path, '{"text": "a", "label": ["x", "x"]}', name="a.jsonl")
    with pytest.raises(DataError, match="one label was expected"):
        read(tmp_path, '{"text": "a", "label": {"x": 1}}', name="a.jsonl")


def test_labels_are_ordered_as_numbers_where_they_are_such():
    assert label_order(["10", "b", "9", "a", "9", "nan"]) == ("9", "10", "a", "b", "nan")
    assert label_order(["neutral", "entailment", "contradiction"]) == ("contradiction", "entailment", "neutral")


def test_the_real_files_have_the_published_numbers_of_rows(data_folder):
    cases = [
        ("glue/CoLA/in_domain_train.tsv.xz", "cola", 8551),
        ("glue/CoLA/out_of_domain_dev.tsv", "cola", 516),
        ("glue/SST-2/dev.tsv", "sst-2", 872),
        ("glue/MRPC/msr-para-train.tsv.xz", "mrpc", 3576),
        ("glue/STS-B/sts-train.csv.xz", "sts-b", 5749),
        ("glue/STS-B/sts-dev.csv.xz", "sts-b", 1500),
        ("glue/RTE/train.tsv.xz", "rte", 2490),
        ("glue/WNLI/dev.tsv", "wnli", 71),
        ("glue/QNLI/part_train.tsv.xz", "qnli", 4463),
        ("glue/ConjNLI/dev_auto.tsv.xz", "mnli", 1000),
        ("ko/korsts/sts-train.tsv.xz", "korsts", 5749),
        ("ko/kornli/xnli.dev.ko.tsv.xz", "kornli", 2490),
        ("ko/klue_nli/part_train.json.xz", "klue-nli", 2000),
        ("ko/nsmc/dev.tsv.xz", "nsmc", 4000),
        ("ko/question_pair/validation.tsv", "qqp", 682),
        ("ko/kobest/BoolQ/dev.tsv.xz", "kobest-boolq", 700),
    ]
    for path, dataset, number in cases:
        layouts, kind = DATA_SETS[dataset].layouts, DATA_SETS[dataset].kind
        data = read_texts(data_folder / path, layouts, purpose="train", kind=kind)
        assert len(data) == number and data.num_dropped == 0, path


def test_malformed_rows_and_empty_texts_may_be_left_out_and_are_counted(tmp_path):
    rows = "id\tdocument\tlabel\n1\t좋다\t1\n2\t\t0\n3\t나쁘다\t0\n4\tx\ty\tz\n"
    with pytest.raises(DataError, match="line 5: 4 columns"):
        read(tmp_path, rows, "nsmc")
    data = read(tmp_path, rows, "nsmc", errors="repair")
    assert (data.ids, data.labels, data.num_dropped) == (("1", "3"), ("1", "0"), 2)
    numbers = "sentence1\tsentence2\tscore\na\tb\thigh\nc\td\t2.5\n"
    data = read(tmp_path, numbers, "korsts", errors="repair")
    assert data.texts == ("c",) and data.labels == (2.5,) and data.num_dropped == 1
    rows = '{"text": "a", "label": "x"}\n{"text": "b"}\n'
    assert read(tmp_path, rows, name="a.jsonl", errors="repair").num_dropped == 1
