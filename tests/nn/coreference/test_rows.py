"""Chunks of rows come back below one another, with gradients and without."""

import pytest
import torch

from spanwise.nn.coreference.rows import Rows, rows_at


@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("with_gradient", [True, False])
@pytest.mark.parametrize("sizes", [[0], [3], [2, 2, 1]])
def test_chunks_come_back_below_one_another(sizes, with_gradient, backwards):
    given = torch.randn(sum(sizes), 4, requires_grad=True)
    with torch.set_grad_enabled(with_gradient):
        rows = Rows(len(given), backwards=backwards)
        for part in given.split(sizes)[:: -1 if backwards else 1]:
            rows.add(part * 2)
        found = rows.joined()
    assert torch.equal(found, given.detach() * 2) and found.requires_grad is with_gradient
    if with_gradient:
        found.sum().backward()
        assert torch.equal(given.grad, torch.full_like(given, 2.0))


def test_rows_of_a_table_are_those_of_indexing():
    table, index = torch.randn(7, 3), torch.tensor([[0, 6], [3, 3]])
    assert torch.equal(rows_at(table, index), table[index]) and torch.equal(rows_at(table, index[0]), table[index[0]])
    assert rows_at(table, index[:0]).shape == (0, 2, 3)
