"""Only the mask token makes a special id, and every blank knows where it stands in the text."""

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.pipelines.blanks import BlankEncoder, window_of
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(vocabulary_folder):
    return Tokenizer.load(vocabulary_folder)


def test_blanks_are_where_the_mask_token_is_written(tokenizer):
    text = "The [MASK] River is [MASK][MASK] km."

    found = BlankEncoder(tokenizer).encode(text)

    pieces = tokenizer.tokens(found.ids)
    assert pieces == ["The", "[MASK]", "River", "is", "[MASK]", "[MASK]", "km", "."]
    assert found.runs == [(1, 2), (4, 6)]
    assert [text[start:end] for start, end in found.offsets] == pieces


def test_other_specials_of_a_text_are_text(tokenizer):
    found = BlankEncoder(tokenizer).encode("[CLS] The [SEP] [MASK] [PAD]")

    specials = set(tokenizer.special_ids) - {tokenizer.unk_id}
    assert [i for i in found.ids.tolist() if i in specials] == [tokenizer.mask_id]


def test_text_that_spells_specials_of_any_vocabulary_is_encoded_apart(tokenizer, monkeypatch):
    """A unigram vocabulary may hold its specials as ordinary pieces: then the parts are encoded on their own."""
    encoder = BlankEncoder(tokenizer)
    text = "한 [MASK] River [MASK]"
    plain = encoder.encode(text)
    encoder._forbidden = np.array([tokenizer.token_to_id("River")])

    apart = encoder.encode(text)

    assert apart.ids.tolist() == plain.ids.tolist() and apart.runs == plain.runs
    assert apart.offsets.tolist() == plain.offsets.tolist()


def test_ids_are_those_of_the_tokenizer_where_added_tokens_are_left_out(tokenizer):
    """Added tokens behind the vocabulary would move up when others before them are left out."""
    backend = tokenizer.copy_backend()
    backend.add_special_tokens(["<extra>"])
    backend.add_tokens(["newword"])
    grown = Tokenizer(backend)

    found = BlankEncoder(grown).encode("newword [MASK] <extra>")

    assert found.ids[0] == grown.token_to_id("newword") == grown.vocab_size - 1
    assert grown.token_to_id("<extra>") not in found.ids


def test_half_a_character_is_named(tokenizer):
    with pytest.raises(DataError, match="surrogate"):
        BlankEncoder(tokenizer).encode("[MASK] \ud800")


def test_windows_lie_around_their_run():
    assert window_of(10, (3, 4), 10) == (0, 10)
    assert window_of(100, (50, 52), 10) == (46, 56)
    assert window_of(100, (1, 2), 10) == (0, 10)
    assert window_of(100, (97, 99), 10) == (90, 100)
    assert window_of(100, (40, 50), 10) == (40, 50)
