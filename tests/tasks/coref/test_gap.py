"""GAP: files read, answers taken from clusters, scores as the official scorer's."""

import pytest

from spanwise.errors import DataError
from spanwise.tasks.coref.gap import (
    COLUMNS,
    GapExample,
    answer,
    is_gap,
    read_gap,
    read_gap_answers,
    score_gap,
    write_gap_answers,
)

TEXT = "🙂 Bob Smith met Ann Lee before she left."
HEAD = "\t".join(COLUMNS)


def row(**changes):
    values = {
        "ID": "t-1",
        "Text": TEXT,
        "Pronoun": "she",
        "Pronoun-offset": TEXT.index("she"),
        "A": "Bob Smith",
        "A-offset": TEXT.index("Bob"),
        "A-coref": "FALSE",
        "B": "Ann Lee",
        "B-offset": TEXT.index("Ann"),
        "B-coref": "TRUE",
        "URL": "http://x",
    }
    return "\t".join(str(value) for value in (values | changes).values())


def written(tmp_path, *rows):
    path = tmp_path / "gap.tsv"
    path.write_text("\n".join([HEAD, *rows]) + "\r\n", encoding="utf-8-sig")
    return path


def test_examples_have_their_spans_as_characters(tmp_path):
    (example,) = read_gap(written(tmp_path, row()))
    assert [TEXT[a:b] for a, b in (example.pronoun, *example.names)] == ["she", "Bob Smith", "Ann Lee"]
    assert example.is_coreferent == (False, True) and example.gender == "feminine"
    assert is_gap(HEAD) and not is_gap("#begin document")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(), "x\ty"], r"gap\.tsv, line 3 has 2 columns"),
        ([row(**{"A-offset": 5})], r"line 2: A 'Bob Smith' does not stand at offset '5'"),
        ([row(**{"A-offset": "-2"})], r"line 2: A 'Bob Smith' does not stand at offset '-2'"),
        ([row(**{"B-coref": "maybe"})], "line 2: B-coref is 'MAYBE'"),
        ([row(Pronoun="met", **{"Pronoun-offset": TEXT.index("met")})], "line 2: 'met' is none of GAP's pronouns"),
        ([row(), row()], "line 3: example 't-1' came before, at line 2"),
        ([], "holds no example"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, rows, said):
    with pytest.raises(DataError, match=said):
        read_gap(written(tmp_path, *rows))


def test_a_name_is_meant_where_the_pronouns_cluster_has_it_a_part_of_it_or_a_title_before_it(tmp_path):
    (example,) = read_gap(written(tmp_path, row()))
    she, bob, ann = example.pronoun, *example.names

    def said(*mentions):
        return answer(example, [[she, *mentions], [(0, 1), bob]])

    assert said(ann) == said((ann[0] + 4, ann[1])) == said((ann[0] - 4, ann[1])) == (False, True)
    assert said((ann[0], ann[1] + 7)) == said() == answer(example, []) == (False, False)
    assert answer(example, [[ann, bob]]) == (False, False)


def test_scores_are_those_of_hand_worked_decisions():
    def example(id, pronoun, gold):
        return GapExample(id=id, text=pronoun, pronoun=(0, len(pronoun)), names=((0, 1), (1, 2)), is_coreferent=gold)

    examples = [
        example("1", "He", (True, False)),
        example("2", "his", (False, True)),
        example("3", "She", (True, False)),
        example("4", "hers", (False, False)),
    ]
    answers = {"1": (True, False), "2": (True, True), "3": (False, False), "4": (True, False)}
    scores = score_gap(examples, answers)
    assert scores["masculine"] == pytest.approx({"recall": 100.0, "precision": 200 / 3, "f1": 80.0})
    assert scores["feminine"] == {"recall": 0.0, "precision": 0.0, "f1": 0.0}
    assert (scores["recall"], scores["precision"], scores["bias"]) == (pytest.approx(200 / 3), 50.0, 0.0)
    assert scores["f1"] == pytest.approx(400 / 7)
    assert score_gap(examples, {})["f1"] == 0.0  # no answer is "neither"


def test_answers_are_written_as_the_official_scorer_reads_them(tmp_path):
    answers = {"a": (True, False), "b": (False, False)}
    path = tmp_path / "answers.tsv"
    path.write_text(write_gap_answers(answers))
    assert path.read_text() == "a\tTRUE\tFALSE\nb\tFALSE\tFALSE\n"
    assert read_gap_answers(path) == answers
    path.write_text("a\tyes\tno\n")
    with pytest.raises(DataError, match="line 1: an id, TRUE or FALSE"):
        read_gap_answers(path)
