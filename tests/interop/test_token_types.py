import pytest
import torch
from tests.nn.toy import toy_encoder

from spanwise.errors import ConfigError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.token_types import TABLE, second_token_type


def test_the_second_token_type_becomes_a_copy_of_the_first_or_zeros_and_nothing_else_changes(folder):
    checkpoint = read_folder(folder)
    before = checkpoint.tensors[TABLE].clone()
    copied, cleared = second_token_type(checkpoint, "first"), second_token_type(checkpoint, "zeros")
    assert torch.equal(copied.tensors[TABLE], before[[0, 0]])
    assert torch.equal(cleared.tensors[TABLE][0], before[0]) and not cleared.tensors[TABLE][1].any()
    assert torch.equal(checkpoint.tensors[TABLE], before)
    assert all(copied.tensors[name] is tensor for name, tensor in checkpoint.tensors.items() if name != TABLE)


def test_an_encoder_without_a_second_token_type_is_refused(tmp_path):
    write_folder(tmp_path, FolderContent(toy_encoder(num_token_types=1), {}))
    with pytest.raises(ConfigError, match="has 1; leave it"):
        second_token_type(read_folder(tmp_path), "zeros")
