import pytest
import torch

from spanwise.nn import dropout as dropout_module
from spanwise.nn.dropout import Rate, drawn_keys, dropout, keep_by_operators, keep_mask, keys_at

CPU = torch.device("cpu")


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_rate_and_the_expected_value_are_kept(p):
    torch.manual_seed(0)
    for shape in ((400_000,), (2000, 200), (20, 100, 200)):
        out = dropout(torch.ones(shape), p, training=True)
        assert abs((out == 0).float().mean().item() - p) < 0.003
        assert abs(out.mean().item() - 1.0) < 0.02


@pytest.mark.parametrize("keys", [torch.arange(1500), torch.arange(1500) * 0x9E3779B97F4A7C1], ids=["count", "spread"])
def test_masks_have_no_pattern_between_neighbours_also_of_keys_that_count(keys):
    keep = keep_mask(keys, 201, Rate.of(0.5)).float() - 0.5
    other = keep_mask(keys_at(keys, 1), 201, Rate.of(0.5)).float() - 0.5
    assert abs((keep * other).mean().item()) < 0.0019  # 4 standard deviations
    for lag in (1, 2, 3, 101):
        for one, next_one in ((keep[:-lag], keep[lag:]), (keep[:, :-lag], keep[:, lag:])):
            assert abs((one * next_one).mean().item()) < 0.0028


def test_a_row_drops_what_its_key_says_whatever_stands_beside_it():
    torch.manual_seed(3)
    keys = drawn_keys(40, CPU)
    x = torch.ones(40, 33)
    whole = dropout(x, 0.4, True, keys)
    assert torch.equal(dropout(x[[7, 2]], 0.4, True, keys[[7, 2]]), whole[[7, 2]])
    assert not torch.equal(whole[7], whole[2])
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.4, True), whole)  # without keys they are drawn


@pytest.mark.parametrize("width", [1, 2, 7, 24, 101])
def test_the_loop_of_a_cpu_and_the_operators_of_a_gpu_drop_the_same(width):
    keys = drawn_keys(300, CPU)
    for p in (1e-9, 0.1, 0.5, 0.999):
        rate = Rate.of(p)
        assert torch.equal(keep_mask(keys, width, rate), keep_by_operators(keys, width, rate.least))


def test_frozen_bits():
    keep = keep_mask(torch.tensor([0, 1, -1, 2**62]), 8, Rate.of(0.5))
    assert [sum(1 << d for d in range(8) if row[d]) for row in keep.tolist()] == [6, 161, 34, 83]


def test_the_operators_compile_to_one_graph_with_the_same_gradient():
    compiled = torch.compile(dropout_module._dropped, backend="aot_eager", fullgraph=True, dynamic=True)
    keys, rate = drawn_keys(50, CPU), Rate.of(0.2)
    x = torch.randn(50, 9, requires_grad=True)
    (found,) = torch.autograd.grad(compiled(x, keys, rate.least, rate.scale).sum(), x)
    torch.testing.assert_close(found, keep_mask(keys, 9, rate) * rate.scale)


def test_where_nothing_compiles_the_operators_are_taken_as_they_are_and_it_is_said(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: refuse)
    dropout_module._fused.cache_clear()
    keys, rate, x = drawn_keys(5, CPU), Rate.of(0.2), torch.ones(5, 9)
    with pytest.warns(UserWarning, match="no compiler here"):
        first = dropout_module._fused()(x, keys, rate.least, rate.scale)
    assert torch.equal(first, keep_mask(keys, 9, rate) * rate.scale)
    assert torch.equal(first, dropout_module._fused()(x, keys, rate.least, rate.scale))
    dropout_module._fused.cache_clear()


def test_the_gradient_flows_through_kept_elements_alone():
    x = torch.randn(64, 33, requires_grad=True)
    out = dropout(x, 0.3, training=True)
    out.sum().backward()
    torch.testing.assert_close(x.grad, (out != 0) * Rate.of(0.3).scale)


def test_nothing_happens_outside_training_or_at_rate_zero():
    x = torch.randn(4)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
