import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from spanwise.nn.sampling import GROUP, Sampling, draw, draw_block
from spanwise.nn.vocabulary_loss import vocabulary_logits, vocabulary_loss

V, VP = 150, 192


def make_chances(num_rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(num_rows, VP, generator=generator) * 3
    scores[:, V:] = float("-inf")
    return scores.softmax(-1)


def test_draws_follow_the_chances():
    """100,000 draws from one row of 150 ids: every frequency within 5 standard errors."""
    count = 100_000
    chances = make_chances(1).expand(count, -1)
    uniform = torch.from_numpy(np.random.default_rng(0).random(count))
    drawn = draw(chances, uniform)
    p = chances[0].double().numpy()
    found = np.bincount(drawn.numpy(), minlength=VP)
    assert (np.abs(found - count * p) <= 5 * np.sqrt(count * p * (1 - p)) + 1).all()
    assert (found[V:] == 0).all()


def test_a_draw_is_the_inverse_of_the_distribution_function():
    chances = make_chances(200, seed=1).double()
    rows, numbers = chances.numpy(), np.random.default_rng(1).random(200)
    wanted = [
        int(np.searchsorted(np.cumsum(row), u * row.sum(), "right")) for row, u in zip(rows, numbers, strict=True)
    ]
    assert draw(chances, torch.from_numpy(numbers)).tolist() == wanted


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0 - 2.0**-53, 1.0])
def test_an_id_without_weight_is_never_drawn_not_even_at_the_ends(u):
    """1 - 2^-53 is 1 in float32, and rounding may bring a draw to the total."""
    weights = torch.zeros(3 * GROUP, 3 * GROUP)
    weights.fill_diagonal_(0.1)
    assert draw(weights, torch.full((3 * GROUP,), u)).tolist() == list(range(3 * GROUP))


def test_sums_are_those_of_whole_numbers_which_have_no_order():
    """torch refuses a floating-point `cumsum` on a GPU under deterministic algorithms."""
    seen = []

    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            if function.overloadpacket.__name__ == "cumsum":
                seen.append(arguments[0].dtype)
            return function(*arguments, **(named or {}))

    with Types():
        draw(make_chances(3), torch.tensor([0.1, 0.5, 0.9]))
    assert set(seen) == {torch.int64}


def test_chances_that_are_no_numbers_give_some_id():
    """Of a step that is bad, and found to be so later."""
    drawn = draw(torch.full((2, VP), float("nan")), torch.tensor([0.0, 0.7]))
    assert ((drawn >= 0) & (drawn < VP)).all()


def test_temperature_sharpens_and_flattens():
    chances = make_chances(1).expand(20_000, -1)
    uniform = torch.from_numpy(np.random.default_rng(2).random(20_000))
    targets = torch.zeros(20_000, 1, dtype=torch.int64)
    best = int(chances[0].argmax())
    shares = [
        float((draw_block(chances, uniform, targets, Sampling(uniform=uniform, temperature=t)) == best).double().mean())
        for t in (0.5, 1.0, 2.0)
    ]
    expected = [float(chances[0, best] ** (1 / t) / (chances[0] ** (1 / t)).sum()) for t in (0.5, 1.0, 2.0)]
    assert shares == pytest.approx(expected, abs=0.015) and shares[0] > shares[1] > shares[2]


def test_without_target_draws_all_others_in_proportion():
    chances = make_chances(1).expand(20_000, -1)
    uniform = torch.from_numpy(np.random.default_rng(3).random(20_000))
    best = int(chances[0].argmax())
    targets = torch.full((20_000, 1), best)
    drawn = draw_block(chances, uniform, targets, Sampling(uniform=uniform, without_target=True))
    assert not (drawn == best).any()
    second = int(chances[0].clone().scatter_(0, torch.tensor([best]), 0).argmax())
    assert float((drawn == second).double().mean()) == pytest.approx(
        float(chances[0, second] / (1 - chances[0, best])), abs=0.015
    )


def test_a_target_with_all_of_the_chance_is_drawn_for_want_of_others():
    chances = torch.zeros(1, VP)
    chances[0, 7] = 1.0
    sampling = Sampling(uniform=torch.tensor([0.3]), without_target=True)
    assert draw_block(chances, sampling.uniform, torch.tensor([[7]]), sampling).tolist() == [7]


@pytest.mark.parametrize("chunk_rows", [1, 5, 1000])
def test_the_loss_draws_from_its_own_chances_whatever_the_chunks_and_changes_no_gradient(chunk_rows):
    generator = torch.Generator().manual_seed(0)
    rows, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((17, 16), (VP, 16), (VP,)))
    targets = torch.randint(0, V, (17,), generator=generator)
    uniform = torch.from_numpy(np.random.default_rng(4).random(17))
    inputs = [tensor.requires_grad_() for tensor in (rows, weight, bias)]

    plain = torch.autograd.grad(vocabulary_loss(*inputs, targets, V).sum, inputs)
    found = vocabulary_loss(*inputs, targets, V, chunk_rows=chunk_rows, sampling=Sampling(uniform=uniform))
    gradients = torch.autograd.grad(found.sum, inputs)

    logits = torch.full((17, VP), float("-inf"))
    logits[:, :V] = vocabulary_logits(*inputs, V).detach()
    assert torch.equal(found.samples, draw(logits.softmax(-1), uniform))
    assert not found.samples.requires_grad
    for mine, theirs in zip(gradients, plain, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_no_row_gives_no_draw():
    found = vocabulary_loss(
        torch.zeros(0, 8), torch.zeros(VP, 8), torch.zeros(VP), torch.zeros(0, dtype=torch.int64), V,
        sampling=Sampling(uniform=torch.zeros(0)),
    )  # fmt: skip
    assert found.samples.shape == (0,) and float(found.sum) == 0.0


@pytest.mark.parametrize("without_target", [True, False])
def test_a_low_temperature_draws_the_likeliest_even_where_all_chances_are_small(without_target):
    """(1/150)^(1/0.01) is no number of float32 that is above 0."""
    chances = torch.full((2, VP), 1 / V)
    chances[:, V:] = 0.0
    chances[:, 9], chances[:, 8] = 2 / V, 3 / V
    uniform, target = torch.tensor([0.1, 0.9]), torch.full((2, 1), 8)
    sampling = Sampling(uniform=uniform, temperature=0.01, without_target=without_target)
    assert draw_block(chances, uniform, target, sampling).tolist() == ([9, 9] if without_target else [8, 8])
    one = torch.zeros(1, VP)
    one[0, 8] = 1.0
    if without_target:
        assert draw_block(one, uniform[:1], target[:1], sampling).tolist() == [8]
