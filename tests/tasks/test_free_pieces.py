"""Free pieces are added where they lack; old ids, rows and texts stay as they are."""

import pytest
import torch

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.tasks.free_pieces import free_piece_ids, free_pieces, with_pieces
from spanwise.text.tokenizers import Tokenizer


def test_pieces_are_added_as_special_tokens_with_rows_of_their_own(pretrained_folder, tokenizer, tmp_path):
    checkpoint = read_folder(pretrained_folder)
    grown, words, added = with_pieces(checkpoint, tokenizer, free_pieces(5), seed=1)
    size = tokenizer.vocab_size
    assert added == free_pieces(5) == tuple(f"[unused{n}]" for n in range(1, 6))
    assert free_piece_ids(words) == list(range(size, size + 5)) and free_piece_ids(tokenizer) == []
    assert grown.config.vocab_size == checkpoint.config.vocab_size + 5
    old, new = (c.tensors["embeddings.word.weight"] for c in (checkpoint, grown))
    assert torch.equal(new[: len(old)], old) and new[len(old) :].std() > 0
    assert grown.heads["mlm"]["bias"].shape[0] == grown.config.vocab_size
    assert build_encoder(grown).config.vocab_size == grown.config.vocab_size
    text = "the [unused1] river"
    assert words.encode(text).ids.tolist() == tokenizer.encode(text).ids.tolist()
    words.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert free_piece_ids(again) == free_piece_ids(words)
    assert again.encode(text).ids.tolist() == tokenizer.encode(text).ids.tolist()


def test_what_is_there_is_enough_or_completed(pretrained_folder, tokenizer):
    checkpoint = read_folder(pretrained_folder)
    grown, words, _ = with_pieces(checkpoint, tokenizer, free_pieces(2), seed=1)
    assert with_pieces(grown, words, free_pieces(2), seed=1) == (grown, words, ())
    more, longer, added = with_pieces(grown, words, free_pieces(3), seed=1)
    assert added == ("[unused3]",) and len(free_piece_ids(longer)) == 3
    assert more.config.vocab_size == grown.config.vocab_size + 1


def test_a_piece_that_texts_may_hold_is_refused(pretrained_folder, tokenizer):
    with pytest.raises(CheckpointError, match="the piece 'River' for texts"):
        with_pieces(read_folder(pretrained_folder), tokenizer, ("River",), seed=1)
