"""Only an empty folder or a run that goes on may be written to."""

import pytest

from spanwise.errors import ConfigError
from spanwise.runtime.files import atomic_folder
from spanwise.training.run_folder import claim_run_folder


def test_a_new_folder_is_marked_as_a_run(tmp_path):
    with claim_run_folder(tmp_path / "a" / "run") as run:
        assert run.marker.exists() and run.state == "begun"
        with claim_run_folder(tmp_path / "a" / "run") as inner:  # the loop nests inside its caller
            assert inner == run


def test_a_folder_with_other_things_is_refused_by_name(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")

    for resume in (False, True):
        with pytest.raises(ConfigError, match=r"thesis\.tex"), claim_run_folder(tmp_path, resume=resume):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]  # and no lock is left there


def test_a_run_is_gone_on_with_only_when_asked(tmp_path):
    with claim_run_folder(tmp_path) as run:
        run.plan.write_text("")
    with pytest.raises(ConfigError, match="add --resume"), claim_run_folder(tmp_path):
        pass
    with claim_run_folder(tmp_path, resume=True):
        pass
    with atomic_folder(run.final) as folder:
        (folder / "model").write_text("m")
    with pytest.raises(ConfigError, match="finished run"), claim_run_folder(tmp_path):
        pass


def test_rests_of_dead_processes_are_removed(tmp_path):
    (tmp_path / ".tmp-final-0123").mkdir()
    with claim_run_folder(tmp_path):
        assert not (tmp_path / ".tmp-final-0123").exists()


def test_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(ConfigError, match="is a file"), claim_run_folder(tmp_path / "run"):
        pass


def test_records_of_a_refused_call_do_not_stand_in_the_way(tmp_path):
    """A mistyped value is corrected and the same command given again, without --resume."""
    with claim_run_folder(tmp_path):
        (tmp_path / "recipe.json").write_text("{}")
    with claim_run_folder(tmp_path) as run:
        run.path.joinpath("tokenizer").mkdir()
    with pytest.raises(ConfigError, match="add --resume"), claim_run_folder(tmp_path):
        pass
