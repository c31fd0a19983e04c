"""The folder of a study is gone on with where the study is the same, and refused in words where it is not."""

import pytest

from spanwise.errors import ConfigError
from spanwise.studies.folder import (
    StudyFolder,
    in_words,
    read_measure,
    read_record,
    settle,
    settle_measure,
    write_record,
)


def test_the_same_study_settles_again_and_another_is_refused(tmp_path):
    folder = StudyFolder(tmp_path)
    settle(folder, {"tokens": {"a": 5}, "arms": {"a": {"masking": {"p": 0.2}}}})
    settle(folder, {"tokens": {"a": 5}, "arms": {"a": {"masking": {"p": 0.2}}}})
    with pytest.raises(ConfigError, match=r"arms\.a\.masking\.p: 0\.2 there, 0\.3 now"):
        settle(folder, {"tokens": {"a": 5}, "arms": {"a": {"masking": {"p": 0.3}}}})


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("words")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        settle(StudyFolder(tmp_path), {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_figures_that_were_measured_otherwise_are_refused(tmp_path):
    path = tmp_path / "measures" / "chunks" / "a-0.json"
    settle_measure(path, {"files": {"train": "x"}})  # nothing there yet
    write_record(path, {"settings": {"files": {"train": "x"}}, "figures": {"f1": float("nan")}})
    settle_measure(path, {"files": {"train": "x"}})
    with pytest.raises(ConfigError, match=r"files\.train: x there, y now.*Delete the folder"):
        settle_measure(path, {"files": {"train": "y"}})
    assert read_record(path)["figures"] == {"f1": None}


def test_a_study_of_other_arms_is_told_by_their_names(tmp_path):
    settle(StudyFolder(tmp_path), {"arms": {"hot": {"a": 1}, "cool": {"a": 2}}})
    with pytest.raises(ConfigError, match=r"another study; arms hot, cool there, mlm now\."):
        settle(StudyFolder(tmp_path), {"arms": {"mlm": {"a": 1}}})


def test_many_changes_are_told_by_the_first_few():
    assert in_words([(f"p{n}", 1, 2) for n in range(9)]).endswith("; and 3 more")


def test_a_run_is_diverged_where_its_folder_says_so(tmp_path):
    folder = StudyFolder(tmp_path)
    assert folder.diverged("a", 1) is None
    write_record(tmp_path / "a-1" / "diverged.json", {"error": "not-a-number at step 7"})
    assert folder.diverged("a", 1) == "not-a-number at step 7"


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"settings": {', "Expecting"), ("", "Expecting"), ("{}", "no settings"), ("3", "not iterable")],
)
def test_a_damaged_record_is_named_with_what_to_do(text, words, tmp_path):
    path = tmp_path / "a-0.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"a-0.json is damaged.*{words}.*delete it"):
        settle_measure(path, {})


def test_a_record_with_an_edited_digit_is_refused_and_one_of_an_earlier_version_is_read(tmp_path):
    path = tmp_path / "measures" / "probe" / "a-0.json"
    write_record(path, {"settings": {}, "figures": {"f1": 71.25}})
    assert read_record(path) == {"settings": {}, "figures": {"f1": 71.25}}

    path.write_text(path.read_text().replace("71.25", "73.25"))
    with pytest.raises(ConfigError, match=r"a-0\.json does not agree with its checksum"):
        read_record(path)
    write_record(path, {"settings": {}, "figures": {"f1": 73.25}}, is_read_again=False)
    assert "checksum" not in path.read_text() and read_record(path)["figures"] == {"f1": 73.25}


def test_the_figures_of_one_model_do_not_pass_for_those_of_another(tmp_path):
    for name, value in (("mlm-1.json", 1.0), ("mlm-2.json", 2.0)):
        write_record(tmp_path / name, {"settings": {}, "figures": {"f1": value}})
    assert read_measure(tmp_path / "mlm-1.json").figures == {"f1": 1.0}
    (tmp_path / "mlm-1.json").write_bytes((tmp_path / "mlm-2.json").read_bytes())

    with pytest.raises(ConfigError, match=r"mlm-1\.json is the record mlm-2\.json, which was put in its place"):
        read_measure(tmp_path / "mlm-1.json")


def test_a_record_whose_checksum_lost_its_name_is_damaged(tmp_path):
    path = tmp_path / "a-0.json"
    write_record(path, {"settings": {}, "figures": {"f1": 71.25}})
    path.write_text(path.read_text().replace('"checksum"', '"bhecksum"'))

    with pytest.raises(ConfigError, match=r"a-0\.json does not agree with its checksum"):
        read_record(path)
