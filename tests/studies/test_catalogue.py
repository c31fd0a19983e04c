"""Studies by name: each of ours is small, sound and fits a plain store; a user's file is run."""

import ast
import inspect
from pathlib import Path

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.studies import shipped
from spanwise.studies.catalogue import descriptions, find_study
from spanwise.studies.plan import plan_study
from spanwise.studies.study import changed_study, check_study


@pytest.mark.parametrize("name", descriptions())
def test_every_shipped_study_is_sound_and_describes_itself(name):
    study = find_study(name)
    check_study(study)
    assert study.name == name and study.question.endswith("?") and descriptions()[name].endswith(".")


@pytest.mark.parametrize(
    "name", [name for name in descriptions() if "phrases" not in name and name != "few-shot-questions"]
)
def test_every_shipped_study_fits_a_plain_store(name, tiny_store, tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.studies.budget.ROUNDS", 1)
    monkeypatch.setattr("spanwise.studies.budget.ROUND_SECONDS", 0.1)
    study = changed_study(find_study(name), probes=["masked-tokens"])
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", seeds=1)
    assert set(plan.budget.tokens) == set(study.arms)


def test_a_study_of_phrases_says_which_tags_a_store_lacks(tiny_store, tmp_path):
    study = changed_study(find_study("masking-schemes-with-phrases"), probes=["masked-tokens"])
    with pytest.raises(DataError, match=r"named-entities.*--tag"):
        plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out")


def test_a_shipped_study_is_a_short_function_of_a_file_that_holds_a_few():
    folder = Path(inspect.getfile(shipped)).parent
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert max(len(text.splitlines()) for text in found.values()) <= 150
    functions = [node for text in found.values() for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 15 and max(node.end_lineno - node.lineno for node in functions) < 40


def test_a_wrong_name_is_answered_with_the_nearest_and_a_users_file_is_run(tmp_path):
    with pytest.raises(ConfigError, match=r"no study 'objektives'.*objectives"):
        find_study("objektives")
    (tmp_path / "mine.py").write_text(
        "from spanwise.studies.catalogue import find_study\n"
        "def mine():\n    return find_study('electra')\ndef other():\n    return 3\n"
        "def broken():\n    return 3 + None\n"
    )
    assert find_study(f"{tmp_path / 'mine.py'}:mine").name == "electra"
    with pytest.raises(ConfigError, match="returned int"):
        find_study(f"{tmp_path / 'mine.py'}:other")
    with pytest.raises(ConfigError, match=r"study function .*:broken failed: TypeError"):
        find_study(f"{tmp_path / 'mine.py'}:broken")
    with pytest.raises(ConfigError, match=r"no function 'mind'.*mine"):
        find_study(f"{tmp_path / 'mine.py'}:mind")
    with pytest.raises(ConfigError, match=r"is a file; name the function in it as well: .*mine\.py:my_study"):
        find_study(str(tmp_path / "mine.py"))
    with pytest.raises(ConfigError, match=r"study file .*nowhere\.py does not exist"):
        find_study(f"{tmp_path / 'nowhere.py'}:mine")


def test_a_study_with_selection_says_how_a_store_gets_the_piece_it_lacks(tiny_store, tmp_path):
    study = changed_study(find_study("few-shot-questions"), tokens=1_000, probes=["masked-tokens"])
    with pytest.raises(DataError, match=r"arm 'selection'.*--roles question"):
        plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out")
