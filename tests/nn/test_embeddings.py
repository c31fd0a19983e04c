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


def test_factorised_embeddings_are_normalised_in_their_own_width_and_then_brought_to_the_layers():
    embeddings = Embeddings(toy_config(embedding_size=8)).eval()
    shapes = {name: tuple(parameter.shape) for name, parameter in embeddings.named_parameters()}
    assert shapes == {
        "word.weight": (128, 8),
        "position.weight": (40, 8),
        "token_type.weight": (2, 8),
        "norm.weight": (8,),
        "norm.bias": (8,),
        "projection.weight": (32, 8),
        "projection.bias": (32,),
    }
    ids = torch.arange(5)
    total = embeddings.word.weight[ids] + embeddings.position.weight[ids] + embeddings.token_type.weight[0]
    normalised = torch.nn.functional.layer_norm(total, (8,), eps=1e-12)
    expected = normalised @ embeddings.projection.weight.T + embeddings.projection.bias
    torch.testing.assert_close(embeddings(ids, torch.zeros_like(ids), Sequences.from_lengths([5])), expected)


def test_factorised_embeddings_stay_float32_under_bf16_autocast():
    embeddings = Embeddings(toy_config(embedding_size=8))
    ids = torch.arange(5)
    with torch.autocast("cpu", torch.bfloat16):
        assert embeddings(ids, torch.zeros_like(ids), Sequences.from_lengths([5])).dtype == torch.float32


def test_a_position_offset_adds_rows_and_leaves_the_first_ones_alone():
    embeddings = Embeddings(toy_config(position_offset=2))
    assert embeddings.position.weight.shape == (42, 32)
    ids = torch.arange(40)
    embeddings(ids, torch.zeros_like(ids), Sequences.from_lengths([40])).square().sum().backward()
    touched = embeddings.position.weight.grad.abs().sum(1) > 0
    assert touched.tolist() == [False, False] + [True] * 40


def test_without_token_types_and_norm_the_embeddings_are_a_sum_of_two_tables():
    embeddings = Embeddings(toy_config(num_token_types=0, embedding_norm=False)).eval()
    assert {name for name, _ in embeddings.named_parameters()} == {"word.weight", "position.weight"}
    ids = torch.tensor([4, 9, 4])
    expected = embeddings.word.weight[ids] + embeddings.position.weight[:3]
    assert torch.equal(embeddings(ids, torch.ones_like(ids), Sequences.from_lengths([3])), expected)


def test_shared_tables_are_one_and_the_projection_is_each_encoders_own():
    first = Embeddings(toy_config(embedding_size=8))
    second = Embeddings(toy_config(embedding_size=8, hidden_size=16, num_heads=1), first)
    own = {name for name, p in second.named_parameters() if all(p is not other for other in first.parameters())}
    assert own == {"projection.weight", "projection.bias"}
    assert second.word.weight is first.word.weight and second.norm.weight is first.norm.weight
    ids = torch.arange(5)
    assert second(ids, torch.zeros_like(ids), Sequences.from_lengths([5])).shape == (5, 16)
