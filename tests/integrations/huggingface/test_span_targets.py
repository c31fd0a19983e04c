"""Boundaries of spans by tensor operations: those of our packs, and never a token of another place."""

import numpy as np
import pytest
import torch

from spanwise.integrations.huggingface.rows import read_rows
from spanwise.integrations.huggingface.span_targets import find_boundaries, places_of
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.objectives import SpanBoundary
from spanwise.pretraining.packs import Pack


def bits(text: str) -> torch.Tensor:
    return torch.tensor([[sign == "1" for sign in row] for row in text.split()])


def test_each_hidden_token_knows_the_visible_tokens_around_its_span():
    hidden = bits("0110010 0011100")

    found = find_boundaries(hidden, torch.ones_like(hidden))

    assert found.left[hidden].tolist() == [0, 0, 4, 1, 1, 1]
    assert found.right[hidden].tolist() == [3, 3, 6, 5, 5, 5]
    assert found.index[hidden].tolist() == [0, 1, 0, 0, 1, 2]
    assert torch.equal(found.is_whole, hidden)


def test_a_span_at_an_edge_has_no_boundary_and_never_the_token_at_the_other_end():
    hidden = bits("1000 0001 1111 0110")
    usable = bits("1111 1111 1111 1110")  # the last row ends with padding

    found = find_boundaries(hidden, usable)

    assert not found.is_whole.any()
    assert found.left[0, 0] == -1 and found.right[1, 3] == 4


@pytest.mark.parametrize("edges", ["special", "skip"])
def test_the_targets_are_those_of_our_own_objective(collate, rows_of, edges):
    rows = [row[: 15 + 9 * i] for i, row in enumerate(rows_of(6, 80))]  # the first ones end without [SEP]
    collator = collate(extra_keys="spans", epoch=0)
    batch = collator(rows)
    read = read_rows(rows)
    maskable = ~np.isin(read.input_ids, collator.special_ids)
    pack = Pack(
        input_ids=read.input_ids,
        token_type_ids=read.input_ids,
        borders=read.borders,
        maskable=maskable,
        starts_word=maskable,
        block_ids=np.arange(6),
    )
    _, spans = collator._columns(read)
    expected = SpanBoundary(edges=edges, num_positions=99).targets(pack, spans, hidden_tokens(pack, spans))

    real = batch["attention_mask"] == 1
    usable = real & ~torch.isin(
        batch["input_ids"], torch.tensor(collator.special_ids[: 0 if edges == "special" else None])
    )
    found = find_boundaries(batch["labels"] != -100, usable)

    flat = torch.cumsum(real.flatten(), 0).view_as(real) - 1  # the place in the pack of each padded place
    row, place = found.is_whole.nonzero().T
    assert flat[row, place].tolist() == expected.positions.tolist()
    assert flat[row, found.left[row, place]].tolist() == expected.left.tolist()
    assert flat[row, found.right[row, place]].tolist() == expected.right.tolist()
    assert found.index[row, place].tolist() == expected.position_index.tolist()


def test_places_are_those_of_nonzero_cut_or_filled_to_a_size():
    chosen = bits("0110 1000")

    assert places_of(chosen, 3).tolist() == [1, 2, 4]
    assert places_of(chosen, 2).tolist() == [1, 2]
    assert places_of(chosen, 5).tolist() == [1, 2, 4, 0, 0]
    assert places_of(chosen & False, 0).tolist() == []


def test_empty_batches_have_no_targets():
    nothing = torch.zeros(2, 0, dtype=torch.bool)

    found = find_boundaries(nothing, nothing)

    assert places_of(found.is_whole, 0).shape == (0,)
