"""One pass over the hidden layer gives what PyTorch gives step by step."""

import pytest
import torch

from spanwise.nn.coreference.last_layer import Shared, one_pass, scores_of_sums


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_rows", [0, 1, 37])
def test_scores_are_those_of_the_steps(dtype, num_rows):
    draw = torch.Generator().manual_seed(0)
    inner = torch.randn(num_rows, 70, generator=draw).to(dtype)
    shared = tuple(
        Shared(torch.randn(size, 70, generator=draw), torch.randint(size, (num_rows,), generator=draw))
        for size in (1, 5, 40)
    )
    last = torch.nn.Linear(70, 1)
    with torch.no_grad():
        found = scores_of_sums(inner, shared, last)
        summed = inner.double() + sum(table.double()[index] for table, index in shared)
        expected = summed.relu() @ last.weight[0].double() + last.bias
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)


def test_a_rows_score_does_not_depend_on_the_rows_beside_it():
    inner, table, index = torch.randn(9, 33), torch.randn(4, 33), torch.arange(9) % 4
    last = torch.nn.Linear(33, 1)
    with torch.no_grad():
        whole = scores_of_sums(inner, (Shared(table, index),) * 3, last)
        alone = scores_of_sums(inner[4:5], (Shared(table, index[4:5]),) * 3, last)
    assert torch.equal(whole[4:5], alone)


def test_layers_that_are_views_are_read_as_they_are():
    inner, tables = torch.randn(6, 20)[:, ::2], torch.randn(3, 4, 20)[..., 5:15]
    index, last = torch.arange(12)[::2] % 4, torch.nn.Linear(10, 1)
    with torch.no_grad():
        found = scores_of_sums(inner, tuple(Shared(table, index) for table in tables), last)
        torch.testing.assert_close(found, last((inner + tables[:, index].sum(0)).relu())[:, 0])


def test_gradients_are_left_to_pytorch():
    assert not one_pass(torch.device("cpu"))
    with torch.no_grad():
        assert one_pass(torch.device("cpu")) and not one_pass(torch.device("cuda"))
