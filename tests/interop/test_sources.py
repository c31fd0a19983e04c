import huggingface_hub
import pytest
from huggingface_hub.errors import RepositoryNotFoundError

from spanwise.errors import CheckpointError
from spanwise.interop.sources import find_folder


def test_a_folder_is_itself_and_a_run_folder_points_to_its_model(tmp_path):
    assert find_folder(tmp_path) == tmp_path
    (tmp_path / "final").mkdir()
    (tmp_path / "final" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"run folder; its model is .*final"):
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

    def snapshot_download(hub_id, allow_patterns):
        asked.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert find_folder("owner/name") == tmp_path
    assert "*.safetensors" in asked[0] and "pytorch_model.bin" in asked[1]
    (tmp_path / "model.safetensors").write_bytes(b"")
    find_folder("owner/name")
    assert len(asked) == 3
    assert issubclass(RepositoryNotFoundError, Exception)
