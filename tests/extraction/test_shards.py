"""Shards follow from the text, and a work folder belongs to one job."""

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.extraction import shards
from spanwise.extraction.documents import ReadingOptions
from spanwise.extraction.shards import WorkFolder, shards_of, survey

USUAL = ReadingOptions()


def test_shards_hold_all_documents_in_order_and_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "MOST_CHARACTERS", 20)
    (tmp_path / "a.txt").write_text("\n\n".join(["word " * 2] * 5 + ["long " * 9]))
    found = list(shards_of({"a.txt": tmp_path / "a.txt"}, USUAL))
    assert [d.id for shard in found for d in shard] == [f"a.txt#{n}" for n in range(1, 7)]
    assert [len(shard) for shard in found] == [2, 2, 1, 1]
    assert survey({"a.txt": tmp_path / "a.txt"}, USUAL).num_shards == 4


def test_a_corpus_without_text_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    with pytest.raises(DataError, match="no text"):
        survey({"a.txt": tmp_path / "a.txt"}, USUAL)


def test_a_number_sign_in_the_name_of_a_file_that_cannot_be_read_is_no_number_of_a_document(tmp_path):
    (tmp_path / "a#b.txt.gz").write_bytes(b"no archive")
    found = survey({"a#b.txt.gz": tmp_path / "a#b.txt.gz"}, USUAL)
    assert (found.num_documents, found.num_shards, set(found.files)) == (0, 1, {"a#b.txt.gz"})


@pytest.mark.parametrize(
    ("name", "value"), [("questions", [["b", "b"]]), ("text", {"a.txt": "2"}), ("models", {"m (qa)": "3"})]
)
def test_another_job_is_refused_by_what_differs(tmp_path, name, value):
    asked = {"text": {"a.txt": "1"}, "models": {"m (qa)": "2"}, "questions": [["a", "a"]]}
    work = WorkFolder(tmp_path)
    assert not work.claim({"asked": asked})
    assert work.claim({"asked": asked})
    with pytest.raises(ConfigError, match=f"other {name}"):
        work.claim({"asked": {**asked, name: value}})


def test_shards_without_a_plan_are_no_work_of_this_job(tmp_path):
    work = WorkFolder(tmp_path)
    asked = {"asked": {"language": "en"}}
    work.claim(asked)
    work.write(0, {"rows": []})
    assert work.claim(asked) and work.num_finished(1) == 1
    (tmp_path / "plan.json").unlink()
    assert not work.claim(asked) and work.num_finished(1) == 0


@pytest.mark.parametrize("damage", ["{", "5", '{"asked": 5}', None])
def test_a_damaged_plan_or_shard_is_named_with_its_cure(tmp_path, damage):
    work = WorkFolder(tmp_path)
    work.claim({"asked": {"language": "en"}})
    work.write(0, {"rows": [["a.txt#1", 17]]})
    assert list(work.contents(1)) == [{"rows": [["a.txt#1", 17]]}]
    for path in (work.file_of(0), tmp_path / "plan.json"):
        path.write_text(path.read_text().replace("17", "18").replace("en", "ko") if damage is None else damage)
    with pytest.raises(DataError, match=r"shard-000000\.json is damaged.*remove it"):
        list(work.contents(1))
    with pytest.raises(DataError, match=r"plan\.json is damaged.*begin again"):
        work.claim({"asked": {"language": "en"}})
