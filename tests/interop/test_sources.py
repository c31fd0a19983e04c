import shutil

import huggingface_hub
import pytest
from huggingface_hub.errors import RepositoryNotFoundError

from spanwise.errors import CheckpointError
from spanwise.interop.sources import _tell_taken, find_folder
from spanwise.runtime.files import atomic_folder


def make_run(folder, *, final=True, marker=True):
    """The names of a run folder, without weights."""
    folder.mkdir(parents=True)
    if marker:
        (folder / "run.json").write_text("{}")
    if final:
        (folder / "final").mkdir()
        (folder / "final" / "config.json").write_text("{}")
    return folder


def commit(folder, content):
    """A model folder with a manifest, as runs leave them."""
    with atomic_folder(folder) as temporary:
        for name in ("config.json", "model.safetensors", "spanwise.json"):
            (temporary / name).write_text(content)


@pytest.mark.parametrize("marker", [True, False])  # false: somebody copied the run without its small files
def test_a_folder_is_itself_and_of_a_run_the_model_is_taken_and_told(marker, tmp_path, caplog):
    _tell_taken.cache_clear()  # another test's folder may have had this path
    assert find_folder(tmp_path) == tmp_path
    run = make_run(tmp_path / "run", marker=marker)
    assert find_folder(str(run)) == run / "final" and find_folder(run / "final") == run / "final"
    assert find_folder(run) == run / "final"  # told once
    assert [record.getMessage() for record in caplog.records] == [
        f"{run} is a run folder; its model {run / 'final'} is taken."
    ]


def test_a_model_folder_that_holds_a_run_is_itself(tmp_path):
    run = make_run(tmp_path / "model")
    (run / "config.json").write_text("{}")
    assert find_folder(run) == run


def test_of_a_run_that_is_not_finished_the_error_says_how_to_go_on_and_names_the_newest_checkpoint(tmp_path):
    run = make_run(tmp_path / "run", final=False)
    with pytest.raises(CheckpointError, match=r"not finished.*--resume \(in Python, resume=True\)\.$"):
        find_folder(run)
    for step in ("step-000000020", "step-000000100", ".tmp-step-000000200"):
        (run / "checkpoints" / step).mkdir(parents=True)
        (run / "checkpoints" / step / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"newest checkpoint, .*step-000000100\.$"):
        find_folder(run)


def test_a_run_killed_before_its_best_weights_became_the_final_ones_is_not_finished(tmp_path):
    run = make_run(tmp_path / "run", final=False)
    commit(run / "final", "the last step")
    assert find_folder(run) == run / "final"
    commit(run / "best", "a better one")
    with pytest.raises(CheckpointError, match="not finished"):
        find_folder(run)
    shutil.rmtree(run / "final")
    commit(run / "final", "a better one")
    assert find_folder(run) == run / "final"


def test_a_folder_of_several_runs_names_their_models(tmp_path):
    for seed in range(4):
        make_run(tmp_path / f"seed-{seed}")
    with pytest.raises(CheckpointError, match=r"4 runs; name the model of one: .*seed-0/final, .*, \.\.\.\.$"):
        find_folder(tmp_path)


@pytest.mark.parametrize("name", ["no/such/deep/folder", "./nothing", "-x"])
def test_what_is_neither_folder_nor_hub_id_says_so(name):
    with pytest.raises(CheckpointError, match="does not exist"):
        find_folder(name)


def test_a_file_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="is a file"):
        find_folder(tmp_path / "model.safetensors")


def test_a_hub_that_can_not_be_reached_is_a_plain_error(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="'nobody/nothing' is no folder here, and the hub did not give it"):
        find_folder("nobody/nothing")


def test_safetensors_are_asked_for_first_and_bin_only_when_there_are_none(tmp_path, monkeypatch):
    asked = []

    def snapshot_download(hub_id, revision, allow_patterns):
        asked.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert find_folder("owner/name") == tmp_path
    assert "*.safetensors" in asked[0] and "pytorch_model.bin" in asked[1]
    (tmp_path / "model.safetensors").write_bytes(b"")
    find_folder("owner/name")
    assert len(asked) == 3
    assert issubclass(RepositoryNotFoundError, Exception)
