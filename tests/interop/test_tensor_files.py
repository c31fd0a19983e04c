import json
import os
import pickle

import pytest
import torch
from safetensors.torch import save_file

from spanwise.errors import CheckpointError
from spanwise.interop.tensor_files import read_safetensors, read_weights, write_safetensors


class RunsCode:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (str(self.marker), "w"))


def test_a_pickle_with_code_is_refused_with_the_reason_and_never_run(tmp_path):
    marker = tmp_path / "ran"
    torch.save({"a": torch.zeros(1), "b": RunsCode(marker)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin is refused.*open"):
        read_weights(tmp_path)
    assert not marker.exists()


def test_a_bare_pickle_is_refused_too(tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(RunsCode(marker)))
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin"):
        read_weights(tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize("content", [b"", b"not a pickle at all", b"PK\x03\x04broken"])
def test_a_damaged_bin_file_is_named(tmp_path, content):
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin"):
        read_weights(tmp_path)


def test_a_bin_file_must_be_a_flat_dictionary_of_tensors(tmp_path):
    torch.save({"model": {"a": torch.zeros(1)}}, tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="flat dictionary"):
        read_weights(tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 40, -1])
def test_a_truncated_safetensors_file_is_named(tmp_path, keep):
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.arange(100.0)}, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"model.safetensors is no whole safetensors file"):
        read_safetensors(path)


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "x.bin", "..", 3, ["x"], {}]
)
def test_an_index_may_name_plain_safetensors_files_alone(tmp_path, name):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(CheckpointError, match="plain"):
        read_weights(tmp_path)


def test_a_missing_shard_and_a_repeated_tensor_are_named(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    save_file({"a": torch.zeros(1)}, tmp_path / "1.safetensors")
    with pytest.raises(CheckpointError, match=r"2.safetensors, which is missing"):
        read_weights(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / "2.safetensors")
    with pytest.raises(CheckpointError, match=r"repeats the tensor 'a'"):
        read_weights(tmp_path)
    index.write_text("{}")
    with pytest.raises(CheckpointError, match="weight_map"):
        read_weights(tmp_path)


def test_a_folder_without_weights_says_what_was_expected(tmp_path):
    with pytest.raises(CheckpointError, match=r"model.safetensors.*pytorch_model.bin"):
        read_weights(tmp_path)


@pytest.mark.parametrize("name", ["tf_model.h5", "bert_model.ckpt.index", "pytorch_model.bin.index.json"])
def test_weights_of_another_library_are_named_with_the_way_out(tmp_path, name):
    (tmp_path / name).write_bytes(b"weights")
    with pytest.raises(CheckpointError, match=rf"{name} is not read here: save the model as model\.safetensors"):
        read_weights(tmp_path)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_others_may_read_weights_as_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_safetensors({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    finally:
        os.umask(before)
    assert (tmp_path / "model.safetensors").stat().st_mode & 0o777 == mode
    assert read_safetensors(tmp_path / "model.safetensors")["a"].tolist() == [1, 1]
