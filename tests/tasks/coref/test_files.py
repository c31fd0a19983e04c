"""Files of predictions: written in the field's shapes, scored as the reference scorer does."""

import json

import pytest
from tests.tasks.coref.test_gap import HEAD, row

from spanwise.errors import DataError
from spanwise.tasks.coref.documents import write_conll
from spanwise.tasks.coref.files import clusters_table, score_files
from spanwise.tasks.coref.reader import read_coreference

KEY = "#begin document (a); part 000\n" + "\n".join(
    f"a\t0\t{k}\tw{k}\t-\t{mark}" for k, mark in enumerate(["(1)", "(1)", "(1)", "(2)", "(2)", "(2)", "(2)"])
)
SAID = "#begin document (a); part 000\n" + "\n".join(
    f"a\t0\t{k}\tw{k}\t-\t{mark}" for k, mark in enumerate(["(1)", "(1)", "-", "(3)", "(3)", "(4)", "(4)"])
)


@pytest.fixture
def files(tmp_path):
    key, said = tmp_path / "key.conll", tmp_path / "said.conll"
    key.write_text(KEY + "\n#end document\n")
    said.write_text(SAID + "\n#end document\n")
    return key, said


def test_scores_are_the_hand_worked_ones(files):
    scores = score_files(*files).scores
    assert next(iter(scores)) == "conll_f1"
    assert {"muc", "b_cubed", "ceaf_m", "ceaf_e", "lea", "blanc"} <= scores.keys()
    assert scores["muc"] == pytest.approx({"recall": 60.0, "precision": 100.0, "f1": 75.0})  # 3 of 5 links
    # b-cubed: (2 * 2/3 + 4 * 2/4) / 7, all of the response right
    assert scores["b_cubed"]["recall"] == pytest.approx(100 * (4 / 3 + 2) / 7)
    # best pairs: 2 * 2 / (3 + 2) and 2 * 2 / (4 + 2)
    assert scores["ceaf_e"]["recall"] == pytest.approx(100 * (0.8 + 2 / 3) / 2)
    assert scores["ceaf_e"]["precision"] == pytest.approx(100 * (0.8 + 2 / 3) / 3)
    means = [scores[name]["f1"] for name in ("muc", "b_cubed", "ceaf_e")]
    assert scores["conll_f1"] == pytest.approx(sum(means) / 3)


def columns(name, *marks):
    words = "\n".join(f"{name}\t0\t{k}\tw{k}\t-\t{mark}" for k, mark in enumerate(marks))
    return f"#begin document ({name}); part 000\n{words}\n\n#end document\n"


def test_singletons_repeated_and_crossing_mentions_and_empty_documents_are_hand_worked(tmp_path):
    """Key {w0 w3} {w1-w2 w5}, response {w0 w3} {w1-w2} with w3 named again, and a document without a mention."""
    key, said = tmp_path / "key.conll", tmp_path / "said.conll"
    empty = columns("b", "-", "-")
    key.write_text(columns("a", "(0)", "(1", "1)", "(0)", "-", "(1)") + empty)
    said.write_text(columns("a", "(4)", "(7", "7)", "(4)|(7)|(4)", "-", "-") + empty)
    found = score_files(key, said)
    said.write_text(said.read_text().replace("(4)|(7)|(4)", "(4)"))
    assert found.scores == score_files(key, said).scores and "2 mentions are named twice" in found.notes[0]
    values = {
        "muc": (1 / 2, 1),
        "b_cubed": ((1 + 1 + 1 / 2) / 4, 1),
        "ceaf_m": (3 / 4, 1),
        "ceaf_e": ((1 + 2 / 3) / 2, (1 + 2 / 3) / 2),
        "lea": (2 * 1 / 4, 2 * 1 / 3),
        "blanc": ((1 / 2 + 2 / 4) / 2, 1),
        "mentions": (3 / 4, 1),
    }
    assert found.scores.keys() == {"conll_f1", *values}
    for name, (recall, precision) in values.items():
        assert found.scores[name] == pytest.approx(
            {
                "recall": 100 * recall,
                "precision": 100 * precision,
                "f1": 200 * recall * precision / (recall + precision),
            }
        ), name
    key.write_text(columns("a", "(0", "(1", "0)", "1)", "(0)"))  # crossing: each still is one mention
    assert score_files(key, key).scores["conll_f1"] == 100.0


def side_by_side(clusters):
    """Mentions of two words, named by letters, with nothing between the brackets of a word."""
    marks = {letter: [[], []] for letter in "abcdefxyz"}
    for number, cluster in enumerate(clusters.split()):
        for letter in cluster:
            marks[letter][0].append(f"({number}")
            marks[letter][1].append(f"{number})")
    return columns("a", *("".join(mark) or "-" for pair in marks.values() for mark in pair))


@pytest.mark.parametrize("response", ["a bcxb dy z", "a bcx dy bz", "a bcx dy " + 10 * "b" + "z"])
def test_mentions_repeated_side_by_side_score_as_in_the_reference_scorer(tmp_path, response):
    key, said = tmp_path / "key.conll", tmp_path / "said.conll"
    key.write_text(side_by_side("a bc def"))
    said.write_text(side_by_side(response))
    scores = score_files(key, said).scores
    expected = {"muc": (1 / 3, 1 / 3), "b_cubed": (5 / 9, 17 / 42), "ceaf_m": (2 / 3, 4 / 7), "ceaf_e": (0.73333, 0.55)}
    for name, numbers in expected.items():
        found = (scores[name]["recall"], scores[name]["precision"])
        assert found == pytest.approx([100 * number for number in numbers], abs=1e-3), name


def test_json_lines_and_columns_score_alike(stories, tmp_path):
    data = read_coreference(stories, purpose="score")
    columns = tmp_path / "said.conll"
    columns.write_text(write_conll(list(data.documents)))
    found = score_files(stories, columns)
    assert found.scores["conll_f1"] == 100.0 and found.notes == ()


def test_a_missing_document_counts_as_empty_and_is_told(stories, tmp_path):
    part = tmp_path / "part.jsonl"
    part.write_text("".join(stories.read_text().splitlines(keepends=True)[:6]))
    found = score_files(stories, part)
    assert found.scores["muc"]["recall"] == 50.0 and found.scores["muc"]["precision"] == 100.0
    assert found.notes == ("6 of 12 documents have no response and count as empty.",)


def test_a_response_to_another_document_or_of_other_words_is_refused(stories, tmp_path):
    rows = [json.loads(line) for line in stories.read_text().splitlines()]
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(rows[0] | {"doc_key": "x"}))
    with pytest.raises(DataError, match=r"other\.jsonl has a document 'x' that .* does not have"):
        score_files(stories, other)
    other.write_text(json.dumps(rows[0] | {"sentences": [["a"] * 13], "speakers": []}))
    with pytest.raises(DataError, match="has 13 words, and 12 in"):
        score_files(stories, other)


def test_mentions_named_twice_are_told(files, tmp_path):
    twice = tmp_path / "twice.conll"
    twice.write_text(SAID.replace("(3)", "(3)|(1)") + "\n#end document\n")
    assert "2 mentions are named twice" in score_files(files[0], twice).notes[0]


def test_gap_answers_are_scored_against_their_file(tmp_path):
    key, answers = tmp_path / "gap.tsv", tmp_path / "answers.tsv"
    key.write_text("\n".join([HEAD, row(), row(ID="t-2")]))
    answers.write_text("t-1\tFALSE\tTRUE\n")
    found = score_files(key, answers)
    assert found.scores["precision"] == 100.0 and found.scores["recall"] == 50.0
    assert found.notes == ("1 of 2 examples have no answer and count as neither.",)
    table = clusters_table(found.scores)
    assert [line[0] for line in table.rows] == ["all", "masculine", "feminine"] and "bias" in table.notes[0]


def test_the_table_has_a_row_a_metric(files):
    table = clusters_table(score_files(*files).scores)
    assert table.rows[0] == ("MUC", "60.00", "100.00", "75.00") and len(table.rows) == 7
    assert table.notes[0].startswith("mean F1 of MUC, B-cubed and CEAF-e ")
