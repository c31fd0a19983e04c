"""Files of answers scored alone, and the table of the official keys."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.qa.files import official_table, score_files


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"length": "494 km", "bridge": "1900", "tea": "May", "price": ""}))
    return path


def test_a_missing_prediction_counts_as_wrong_and_is_told(squad_files, answers):
    found = score_files(squad_files["v2.0"], answers)
    assert (found.scores["exact"], found.scores["total"]) == (60.0, 5)
    assert found.notes == ("1 of 5 questions have no prediction and count as wrong.",)


def test_null_odds_add_the_best_thresholds_and_the_table_shows_them(squad_files, answers, tmp_path):
    odds = tmp_path / "odds.json"
    odds.write_text(json.dumps({"length": -1.0, "bridge": -1.0, "tea": 2.0, "price": 3.0, "arms": 0.0}))
    scores = score_files(squad_files["v2.0"], answers, null_odds=odds, null_threshold=0.0).scores
    table = official_table(scores)
    assert [row[0] for row in table.rows] == ["all", "answerable", "unanswerable"]
    assert any("at null threshold" in note for note in table.notes)
    assert official_table({"exact": 1.0, "f1": 2.0, "total": 3}).rows == (("all", 3, "1.00", "2.00"),)


def test_a_file_that_is_no_json_object_is_named(squad_files, tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[1]")
    with pytest.raises(DataError, match=r"list\.json"):
        score_files(squad_files["v2.0"], path)
