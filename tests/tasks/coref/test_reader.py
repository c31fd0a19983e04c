"""Files of every shape are read by what they hold; wrong rows are named by file and line."""

import gzip
import json

import pytest
from tests.tasks.coref.conftest import story
from tests.tasks.coref.test_gap import HEAD, row

from spanwise.errors import DataError
from spanwise.tasks.coref.documents import CoreferenceDocument, TextDocument, write_conll
from spanwise.tasks.coref.reader import read_coreference, write_json_line


def written(tmp_path, *rows, name="x.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8-sig")
    return path


def test_json_lines_and_conll_columns_of_the_same_documents_are_the_same(stories, tmp_path):
    data = read_coreference(stories, purpose="train")
    columns = tmp_path / "stories.conll.gz"
    columns.write_bytes(gzip.compress(write_conll(list(data.documents)).encode()))
    for a, b in zip(data.documents, read_coreference(columns, purpose="train").documents, strict=True):
        assert (a.words, a.sentence_borders, a.speakers) == (b.words, b.sentence_borders, b.speakers)
        assert set(a.clusters) == set(b.clusters)
    first = data.documents[0]
    assert first.clusters[0] == ((0, 1), (4, 5), (10, 11)) and first.sentence_borders == (0, 4, 8, 12)
    assert (first.line, data.num_singletons) == (1, 0)


def test_what_is_written_is_what_was_read(stories):
    rows = [json.loads(line) for line in stories.read_text().splitlines()]
    for document, expected in zip(read_coreference(stories, purpose="score").documents, rows, strict=True):
        assert json.loads(write_json_line(document, document.clusters)) == expected


def test_text_to_predict_on_comes_as_json_rows_or_as_a_whole_file(tmp_path):
    path = written(tmp_path, {"text": "a b\nc"}, "", {"doc_key": "k", "text": "한국"})
    found = read_coreference(path, purpose="predict").documents
    assert found == (TextDocument(name="x.jsonl:1", text="a b\nc"), TextDocument(name="k", text="한국"))
    with pytest.raises(DataError, match="plain text without clusters"):
        read_coreference(path, purpose="score")
    path = written(tmp_path, "one\r", "", "two", name="a.txt")
    assert read_coreference(path, purpose="predict").documents[0].text == "one\n\ntwo"


def test_gap_is_read_to_score_on_and_refused_to_train_on(tmp_path):
    path = written(tmp_path, HEAD, row(), name="gap.tsv")
    data = read_coreference(path, purpose="score")
    assert data.gap[0].id == data.documents[0].name == "t-1" and data.documents[0].text == data.gap[0].text
    with pytest.raises(DataError, match=r"gap\.tsv is a file of GAP"):
        read_coreference(path, purpose="train")


def test_a_mention_that_comes_twice_counts_where_it_first_stood(tmp_path):
    record = story(0) | {"clusters": [[[0, 0], [4, 4], [0, 0]], [[4, 4]], [[2, 3], [3, 4]]]}
    data = read_coreference(written(tmp_path, record), purpose="train")
    assert data.documents[0].clusters == (((0, 1), (4, 5)), ((2, 4), (3, 5)))  # crossing mentions are kept
    assert data.num_repeated_mentions == 2


def test_mentions_outside_their_text_are_left_out_on_request_and_counted(tmp_path):
    path = written(tmp_path, story(0) | {"clusters": [[[0, 0], [12, 12]], [[3, 2]]]})
    with pytest.raises(DataError, match=r"line 1: mention \[12, 12\] does not lie in the document of 12 words"):
        read_coreference(path, purpose="train")
    data = read_coreference(path, purpose="train", errors="repair")
    assert data.documents[0].clusters == (((0, 1),),) and data.num_dropped_mentions == 2


def test_malformed_documents_are_left_out_on_request_counted_and_named(tmp_path, caplog):
    path = written(tmp_path, story(0), story(1) | {"speakers": [["one"]]}, story(2))
    for purpose in ("score", "predict"):
        with pytest.raises(DataError, match=r"line 2: 'speakers' has other lengths.*--errors repair"):
            read_coreference(path, purpose=purpose)
        data = read_coreference(path, purpose=purpose, errors="repair")
        assert [document.name for document in data.documents] == ["nw/story/0", "nw/story/2"]
        assert data.num_dropped == 1 and "line 2: 'speakers'" in caplog.text


def test_a_document_without_clusters_speakers_or_words_is_read(tmp_path):
    rows = [{"doc_key": "a", "sentences": [["x"], []]}, {"doc_key": "b", "sentences": []}]
    a, b = read_coreference(written(tmp_path, *rows), purpose="train").documents
    assert (a.words, a.sentence_borders, a.clusters, a.speakers) == (("x",), (0, 1), (), ("",))
    assert isinstance(b, CoreferenceDocument) and b.words == () and b.sentence_borders == (0,)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["", " "], "holds nothing"),
        ([story(0), "{"], r"x\.jsonl, line 2 is not JSON"),
        ([story(0), "[1]"], "line 2 holds a list"),
        ([story(0), story(0)], "line 2: document 'nw/story/0' came before, at line 1"),
        ([story(0) | {"sentences": [["a", 1]]}], "line 1: 'sentences' is not a list of lists of strings"),
        ([story(0) | {"speakers": [["one"]]}], "line 1: 'speakers' has other lengths"),
        ([story(0) | {"clusters": [[0, 0]]}], "line 1: mention 0 is not"),
        ([story(0) | {"clusters": [[[0, "1"]]]}], "line 1: mention .* is not"),
        ([story(0) | {"clusters": 5}], "line 1: 'clusters' is not a list"),
        ([story(0) | {"subtoken_map": []}], "line 1 is cut into word pieces already"),
        ([{"doc_key": "a"}], "line 1 has no 'sentences'"),
        (["plain words"], r"x\.jsonl, line 1 is not JSON"),
        (["[1]"], r"x\.jsonl, line 1 holds a list; an object per document was expected"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, rows, said):
    with pytest.raises(DataError, match=said):
        read_coreference(written(tmp_path, *rows), purpose="train")
