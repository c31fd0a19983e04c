"""Windows of many texts through an encoder: the same states as one at a time, without the special tokens."""

import numpy as np
import pytest
import torch
from tests.nn.int8.byte_machine import refused_here

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences
from spanwise.pipelines.given import InputError, open_checkpoint
from spanwise.pipelines.windowed import WindowReader, trimmed, whole_characters
from spanwise.tasks.batches import Packing
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="module")
def reader(discriminator_folder):
    return WindowReader(*open_checkpoint(discriminator_folder, None), "cpu", "fp32")


def test_states_are_those_of_the_text_alone_whatever_is_packed_with_it(reader, monkeypatch):
    windows = [np.arange(10, 10 + length) for length in (1, 22, 5, 9)]
    found = list(reader.read(windows))
    words = reader.tokenizer
    for ids, states in zip(windows, found, strict=True):
        whole = torch.tensor([words.cls_id, *ids, words.sep_id])
        with torch.no_grad():
            alone = reader.encoder(whole, torch.zeros_like(whole), Sequences.from_lengths([len(whole)]))
        torch.testing.assert_close(states, alone[1:-1], atol=1e-5, rtol=1e-5)
    monkeypatch.setattr(reader, "packing", Packing(12))
    for one, other in zip(reader.read(windows), found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert list(reader.read([])) == []


def test_states_in_int8_are_near_and_do_not_depend_on_the_pack(discriminator_folder, reader):
    if refused_here():
        return
    quick = WindowReader(*open_checkpoint(discriminator_folder, None), None, "int8")
    windows = [np.arange(10, 10 + length) for length in (1, 22, 5, 9)]
    for ids, states, plain in zip(windows, quick.read(windows), reader.read(windows), strict=True):
        assert torch.equal(next(iter(quick.read([ids]))), states)
        assert 0 < float((states - plain).norm() / plain.norm()) < 0.05


def test_windows_cover_a_text_and_are_refused_where_one_must_do(reader):
    assert reader.capacity == 22 and reader.windows(22).tolist() == [[0, 22]]
    assert reader.windows(40).tolist() == [[0, 22], [11, 33], [22, 40]]
    with pytest.raises(InputError, match="40 tokens, and at most 22 fit"):
        reader.windows(40, on_overflow="error")


def test_characters_of_tokens_hold_no_white_space():
    text = " a  b\n"
    found = trimmed(text, np.array([[0, 2], [2, 5], [5, 6]]))
    assert found.tolist() == [[1, 2], [4, 5], [6, 6]]


def test_marks_belong_to_the_character_before_them():
    text = "e\u0301\u0302x"
    assert whole_characters(text, 1, 4) == 3 and whole_characters(text, 1, 2) == 2 and whole_characters(text, 4, 4) == 4


def test_a_text_of_which_nothing_is_kept_is_refused(reader):
    assert reader.checked("the text", "a") == "a"
    for text in ("", "\u200b", "\x00"):
        with pytest.raises(InputError, match=r"empty|keeps nothing"):
            reader.checked("the text", text)


def test_a_model_of_two_positions_has_no_room_beside_its_special_tokens(discriminator_folder, tmp_path):
    words = Tokenizer.load(discriminator_folder)
    shape = {"hidden_size": 8, "num_layers": 1, "num_heads": 1, "intermediate_size": 8, "max_positions": 2}
    write_folder(tmp_path, FolderContent(Encoder(EncoderConfig(vocab_size=words.vocab_size, **shape)), {}, words))
    with pytest.raises(CheckpointError, match="2 positions, too few"):
        WindowReader(read_folder(tmp_path), words, "cpu", "fp32")
