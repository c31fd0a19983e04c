import pytest
import torch
from tests.nn.toy import toy_config

from spanwise.nn.embeddings import Embeddings, padded_rows
from spanwise.nn.sequences import Sequences


@pytest.mark.parametrize(("vocab_size", "rows"), [(1, 64), (64, 64), (65, 128), (28_996, 29_056), (30_522, 30_528)])
def test_word_rows_are_padded_to_a_multiple_of_64(vocab_size, rows):
    assert padded_rows(vocab_size) == rows


def test_positions_restart_in_every_sequence_and_token_types_count():
    embeddings = Embeddings(toy_config()).eval()
    same = torch.full((6,), 7)
    out = embeddings(same, torch.zeros_like(same), Sequences.from_lengths([3, 3]))
    torch.testing.assert_close(out[:3], out[3:])
    assert not torch.allclose(out[0], out[1])
    other = embeddings(same, torch.ones_like(same), Sequences.from_lengths([3, 3]))
    assert not torch.allclose(out, other)
