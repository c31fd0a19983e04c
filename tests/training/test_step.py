"""One update weighs every target alike, is reproducible by pack, and never applies a bad number."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy import VOCAB, ToyModel, ToySource, ToyTargets, make_batch

from spanwise.data.batch import Batch
from spanwise.errors import DataError, NumericsError
from spanwise.nn.sequences import Sequences
from spanwise.training.checkpoint import training_tensors
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import TrainingOptions
from spanwise.training.step import StepSums, Updater
from spanwise.training.timing import SectionTimer

CPU = torch.device("cpu")


def updater(model, **values) -> Updater:
    options = TrainingOptions(learning_rate=1e-2, **values)
    return Updater(
        model=model,
        optimizer=build_optimizer(model, options),
        device=CPU,
        precision="fp32",
        seed=0,
        max_grad_norm=options.max_grad_norm,
        timer=SectionTimer(CPU),
    )


def tensors_of(model) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def joined(packs: list[Batch]) -> Batch:
    """The same targets as one big pack."""
    shifts = [0]
    for pack in packs:
        shifts.append(shifts[-1] + len(pack.input_ids))
    targets = {
        name: ToyTargets(
            positions=torch.cat([p.targets[name].positions + s for p, s in zip(packs, shifts, strict=False)]),
            ids=torch.cat([p.targets[name].ids for p in packs]),
        )
        for name in packs[0].targets
    }
    ids = torch.cat([pack.input_ids for pack in packs])
    return Batch(
        input_ids=ids,
        token_type_ids=torch.zeros_like(ids),
        sequences=Sequences.from_lengths([len(pack.input_ids) for pack in packs]),
        targets=targets,
        counts={name: sum(pack.counts[name] for pack in packs) for name in targets},
    )


def test_a_rate_of_the_heads_is_followed_at_every_step():
    packs = ToySource(packs=2).step(0)
    one, other = ToyModel(), ToyModel()  # all of it is outside an encoder

    updater(one, head_learning_rate=2e-2).update(1, packs, 1e-3)
    updater(other).update(1, packs, 2e-3)

    for name, tensor in tensors_of(one).items():
        torch.testing.assert_close(tensor, tensors_of(other)[name], rtol=0, atol=1e-9)


def test_packs_with_different_counts_equal_one_big_pack():
    packs = ToySource(packs=4).step(0)
    assert len({pack.counts["next"] for pack in packs}) > 1
    one, many = ToyModel(dropout=0.0), ToyModel(dropout=0.0)
    big, small = updater(one), updater(many)

    for step in range(1, 4):
        sums_big, norm_big = big.update(step, [joined(packs)], 1e-2)
        sums_small, norm_small = small.update(step, packs, 1e-2)

    for name, value in tensors_of(one).items():
        assert torch.allclose(value, tensors_of(many)[name], atol=1e-6, rtol=0), name
    assert sums_big.counts == sums_small.counts and sums_big.correct == sums_small.correct
    assert norm_big == pytest.approx(norm_small, rel=1e-4)
    assert sums_big.means()["next"] == pytest.approx(sums_small.means()["next"], rel=1e-5)


def test_the_gradient_is_that_of_the_weighted_sum_of_mean_losses():
    """Section 9: MLM mean + SBO mean. Each name is divided by its own count of the whole step, never by another."""
    packs = ToySource(packs=3).step(0)
    model = ToyModel(dropout=0.0)
    losses = [model(pack) for pack in packs]
    means = {
        name: sum(loss[name].sum for loss in losses) / sum(pack.counts[name] for pack in packs)
        for name in model.loss_weights
    }
    expected = torch.autograd.grad(means["next"] + 0.5 * means["same"], list(model.parameters()))

    _, norm = updater(model, max_grad_norm=0.0).update(1, packs, 1e-2)

    for (name, parameter), gradient in zip(model.named_parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-6, rtol=1e-5, msg=name)
    assert norm == pytest.approx(float(torch.cat([gradient.flatten() for gradient in expected]).norm()), rel=1e-5)


def test_every_precision_has_the_same_optimizer_and_the_same_clip():
    """bf16 changes products alone; parameters, moments, hyperparameters and clipping are those of fp32."""
    packs = ToySource().step(0)
    models = {"fp32": ToyModel(dropout=0.0), "bf16": ToyModel(dropout=0.0)}
    updaters = {name: updater(model, max_grad_norm=0.01) for name, model in models.items()}
    updaters["bf16"].precision = "bf16"

    norms = {name: each.update(1, packs, 1e-2)[1] for name, each in updaters.items()}

    groups = [
        [{key: value for key, value in group.items() if key != "params"} for group in each.optimizer.param_groups]
        for each in updaters.values()
    ]
    assert groups[0] == groups[1]
    assert norms["bf16"] == pytest.approx(norms["fp32"], rel=0.02) and norms["bf16"] != norms["fp32"]
    for each in updaters.values():
        clipped = torch.cat([p.grad.flatten() for p in each.model.parameters()]).norm()
        assert float(clipped) == pytest.approx(0.01, rel=1e-3)
        for parameter, state in each.optimizer.state.items():
            assert parameter.dtype == state["exp_avg"].dtype == state["exp_avg_sq"].dtype == torch.float32


def test_a_step_doubled_is_the_same_step():
    packs = ToySource(packs=1).step(0)
    one, two = ToyModel(dropout=0.0), ToyModel(dropout=0.0)

    _, norm = updater(one).update(1, packs, 1e-2)
    _, norm_twice = updater(two).update(1, packs * 2, 1e-2)

    assert norm == pytest.approx(norm_twice, rel=1e-5) and 0.01 < norm < 10


def test_dropout_differs_between_packs_and_steps_and_not_between_runs():
    batch = ToySource().pack(0, 0)

    def loss_of(step: int, packs: int) -> list[float]:
        model = ToyModel(dropout=0.5)
        sums, _ = updater(model).update(step, [batch] * packs, 0.0)
        return sums.losses["next"]

    assert loss_of(1, 1) == loss_of(1, 1)
    assert loss_of(1, 1) != loss_of(2, 1)
    assert loss_of(1, 2) != 2 * loss_of(1, 1)


def test_the_keys_of_dropout_depend_on_seed_step_and_sequence_alone():
    pack = replace(ToySource().pack(0, 0), ids=np.array([7, 3]), sequences=Sequences.from_lengths([5, 5]))

    def keys_of(pack: Batch, step: int = 1, seed: int = 0) -> list[list[int]]:
        one = updater(ToyModel())
        one.seed = seed
        return one.keyed(step, pack).sequences.keys.reshape(2, 5).tolist()

    seven, three = keys_of(pack)
    assert keys_of(replace(pack, ids=np.array([3, 7]))) == [three, seven]
    numbered = replace(pack, ids=np.array([1]), sequence_ids=(7, 3))  # one example of two sequences
    assert keys_of(numbered) == [seven, three]
    drawn = [seven, three, *keys_of(pack, step=2), *keys_of(pack, seed=1)]
    assert len({key for keys in drawn for key in keys}) == 30


def test_no_target_is_legal_and_gives_zero_and_no_nan():
    model = ToyModel(dropout=0.0)
    before = tensors_of(model)
    batch = make_batch(torch.arange(10) % VOCAB, {"next": 0, "same": 0})

    sums, norm = updater(model, weight_decay=0.0).update(1, [batch], 1e-2)

    assert norm == 0.0 and sums.means() == {} and sums.losses == {"next": 0.0, "same": 0.0}
    assert all(torch.equal(before[name], value) for name, value in tensors_of(model).items())


class Poisoned(ToyModel):
    """Multiplies the loss, or only its gradient, of the pack with block `block`."""

    def __init__(self, block: int, site: str, value: float) -> None:
        super().__init__(dropout=0.0)
        self.block, self.site, self.value = block, site, value

    def forward(self, batch):
        found = super().forward(batch)
        if self.block in batch.ids:
            loss = found["next"].sum
            bad = loss * self.value if self.site == "loss" else loss + (self.mix.bias * 0).sum()
            if self.site == "gradient":
                bad.register_hook(lambda gradient: gradient * self.value)
            found["next"] = type(found["next"])(sum=bad, num_correct=found["next"].num_correct)
        return found


@pytest.mark.parametrize("site", ["loss", "gradient"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_bad_number_stops_before_the_update_and_names_step_pack_and_block(site, value):
    model = Poisoned(block=701, site=site, value=value)
    update = updater(model)
    before = tensors_of(model)

    with pytest.raises(NumericsError, match=r"step 8, pack 1 \(blocks 701\)") as error:
        update.update(8, ToySource().step(7), 1e-2)

    assert error.value.exit_status == 5 and error.value.ids == (701,)
    assert all(torch.equal(before[name], value) for name, value in tensors_of(model).items())
    assert not any(moment.any() for state in update.optimizer.state.values() for moment in state.values())


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
@pytest.mark.parametrize("site", ["loss", "gradient"])
def test_a_step_that_is_read_late_has_changed_nothing_and_neither_have_those_behind_it(optimizer, site):
    """The host goes on; the device leaves parameters, moments and counters as they were before the bad step."""
    source, model = ToySource(), Poisoned(block=300, site=site, value=float("nan"))
    update = updater(model, optimizer=optimizer)
    good = [update.begin(step, source.step(step - 1), 1e-2) for step in (1, 2, 3)]
    before = training_tensors(model, update.optimizer)
    before = {name: value.clone() for name, value in before.items()}

    behind = [update.begin(step, source.step(step - 1), 1e-2) for step in (4, 5, 6)]

    after = training_tensors(model, update.optimizer)
    assert before.keys() == after.keys() and all(torch.equal(before[name], value) for name, value in after.items())
    assert len(update.read(good)) == 3
    with pytest.raises(NumericsError, match=r"step 4, pack 0 \(blocks 300\)"):
        update.read(behind)


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
def test_steps_read_together_say_what_each_alone_would(optimizer):
    source = ToySource(packs=3)
    one, other = updater(ToyModel(), optimizer=optimizer), updater(ToyModel(), optimizer=optimizer)
    alone = [one.update(step, source.step(step - 1), 1e-2) for step in (1, 2, 3)]

    begun = [other.begin(step, source.step(step - 1), 1e-2) for step in (1, 2, 3)]

    assert other.read(begun) == alone
    assert all(torch.equal(tensors_of(one.model)[name], value) for name, value in tensors_of(other.model).items())


@pytest.mark.parametrize("place", ["table.weight", "norm.weight"])
def test_a_bad_weight_is_met_in_the_same_step(place):
    model = ToyModel()
    dict(model.named_parameters())[place].data.view(-1)[:5] = float("nan")

    with pytest.raises(NumericsError, match="step 1, pack 0"):
        updater(model).update(1, [make_batch(torch.arange(5), {"next": 4})], 1e-2)


def test_a_gradient_too_large_for_its_norm_is_refused_too():
    model = Poisoned(block=0, site="gradient", value=1e37)

    with pytest.raises(NumericsError, match="step 1"):
        updater(model).update(1, ToySource().step(0), 1e-2)


def test_a_step_without_packs_is_a_data_error():
    with pytest.raises(DataError, match="step 1 has no pack"):
        updater(ToyModel()).update(1, [], 1e-2)


def test_sums_of_steps_add_up():
    total = StepSums()
    total.add(StepSums(losses={"a": 1.0}, counts={"a": 2}, correct={"a": 1}, num_tokens=5, num_padding=1))
    total.add(StepSums(losses={"a": 2.0, "b": 1.0}, counts={"a": 1, "b": 0}, num_tokens=5))

    assert total.means() == {"a": 1.0} and total.accuracies() == {"a": 1 / 3}
    assert (total.num_tokens, total.num_padding) == (10, 1)
