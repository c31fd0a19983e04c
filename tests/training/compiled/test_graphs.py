"""A step whose packs and update are graphs computes what its operators compute one by one."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch
from tests.training.compiled import tape
from tests.training.compiled.small import small as recipe_of

from spanwise.nn.encoder import Encoder
from spanwise.pretraining import model
from spanwise.pretraining.corruption import generator
from spanwise.pretraining.objectives import span_selection
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model, training_source
from spanwise.runtime.progress import RunLog
from spanwise.training.compiled.graphs import Graphs, UpdateGraph
from spanwise.training.optim import build_optimizer
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch):
    """Operators of torch in place of loops for a CPU, as where a model is compiled: a tape sees those alone."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for module in (model, generator):
        monkeypatch.setattr(module, "rows_read", lambda *given: None)
    monkeypatch.setattr(Encoder, "fills_rows", False)


def small(name: str, optimizer: str = "adamw", attention_dropout: float = 0.0):
    recipe = recipe_of(name, attention_dropout=attention_dropout)
    return replace(recipe, training=replace(recipe.training, optimizer=optimizer))


def updater_of(recipe, store, graphs=None, **options):
    built = build_model(recipe, store.vocabulary.size).train()
    optimizer = build_optimizer(built, recipe.training)
    return Updater(built, optimizer, CPU, "fp32", 0, 1.0, SectionTimer(CPU), graphs=graphs, **options)


def trained(updater, packs):
    """The parameters, and losses and norms of all steps, which are begun before any is read."""
    begun = [updater.begin(step + 1, packs[step], 1e-3 * (step + 1)) for step in range(len(packs))]
    told = [(sums.losses, sums.correct, norm) for sums, norm in updater.read(begun)]
    return [p.detach().clone() for p in updater.model.parameters()], told


def recorded(updater, packs):
    keyed = [updater.keyed(number, pack) for number, step in enumerate(packs, 1) for pack in step]
    updater.record(keyed)


def packs_of(recipe, store):
    packs = [training_source(recipe, store).step(index) for index in range(4)]
    assert len({pack.sequences.lengths for step in packs for pack in step}) > 1
    return packs


@pytest.mark.parametrize(
    ("name", "optimizer", "exact_sums"),
    [
        ("spanbert-modern-small", "muon", False),
        ("spanbert-modern-small", "muon", True),
        ("albert-mini", "lamb", False),
        ("gpt1-mini", "adamw", False),
        ("electra-mini", "adamw", False),
        ("spanbert-selection-mini", "adamw", False),
        ("splinter-mini", "adamw", False),
    ],
)
def test_packs_and_update_as_graphs_give_the_same_bits(name, optimizer, exact_sums, question_store):
    recipe = small(name, optimizer)
    packs, said = packs_of(recipe, question_store), []
    graphs = Graphs(said.append, record=tape.record)
    updater = updater_of(recipe, question_store, graphs, exact_sums=exact_sums)
    recorded(updater, packs)
    found, told = trained(updater, packs)

    wanted, also = trained(updater_of(recipe, question_store, Graphs(pytest.fail), exact_sums=exact_sums), packs)
    assert said == ["Each pack is one CUDA graph.", "Each update is one CUDA graph."]
    assert told == also
    assert all(map(torch.equal, found, wanted))


def test_rates_are_those_without_graphs(tiny_store):
    """A graph takes the rate as a number of the device, which has fewer digits than one of the host."""
    recipe = small("spanbert-modern-small", "adamw")
    packs = packs_of(recipe, tiny_store)
    found, told = trained(updater_of(recipe, tiny_store, Graphs([].append, record=tape.record)), packs)
    wanted, also = trained(updater_of(recipe, tiny_store), packs)

    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    assert [norm for *_, norm in told] == pytest.approx([norm for *_, norm in also], rel=1e-4)


def test_an_optimizer_may_be_recorded(tiny_store):
    """torch's AdamW refuses to be unless every group says that it may."""
    for optimizer, allowed in (("adamw", [True, True]), ("muon", [True, True])):
        updater = updater_of(small("spanbert-modern-small", optimizer), tiny_store, Graphs(pytest.fail))
        groups = updater.optimizer.param_groups
        assert [group["capturable"] for group in groups if "capturable" in group] == allowed


def test_sequences_of_other_lengths_than_were_tried_go_without_a_graph(tiny_store):
    recipe = small("spanbert-tiny")
    packs, said = packs_of(recipe, tiny_store), []
    graphs = Graphs(said.append, record=tape.record)
    updater = updater_of(recipe, tiny_store, graphs)
    first = updater.keyed(1, packs[0][0])
    updater.record([first, first])
    assert graphs.fits(first) and not said[1:]
    other = next(pack for step in packs for pack in step if pack.sequences.lengths != packs[0][0].sequences.lengths)
    assert not graphs.fits(updater.keyed(1, other)) and "another shape" in said[1]
    assert not graphs.fits(updater.keyed(1, other)) and len(said) == 2  # told once


def test_an_update_is_recorded_once_all_that_has_a_gradient_has_its_moments(tiny_store):
    recipe = small("spanbert-tiny")
    packs = packs_of(recipe, tiny_store)

    def steps(graphs):
        updater = updater_of(recipe, tiny_store, graphs)
        late = updater._trainable[-1]
        late.requires_grad_(False)
        updater.begin(1, packs[0], 1e-3)
        late.requires_grad_(True)
        return trained(updater, packs)

    graphs = Graphs([].append, record=tape.record, wants_update=True)
    found, told = steps(graphs)
    wanted, also = steps(Graphs(pytest.fail))
    assert graphs.update is not None and told == also and all(map(torch.equal, found, wanted))


def test_a_pack_that_needs_more_than_the_common_shape_is_not_the_recorded_one(question_store):
    recipe = small("splinter-mini")
    packs, said = packs_of(recipe, question_store), []
    graphs = Graphs(said.append, record=tape.record)
    updater = updater_of(recipe, question_store, graphs)
    keyed = [updater.keyed(1, pack) for step in packs[:2] for pack in step]
    odd = replace(keyed[-1], is_usual=False, input_ids=torch.cat([keyed[-1].input_ids, keyed[-1].input_ids]))
    updater.record([*keyed, odd])
    assert said == ["Each pack is one CUDA graph."] and all(map(graphs.fits, keyed))


def test_an_update_serves_the_parameters_alone_that_had_gradients_when_it_was_recorded():
    both = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    for parameter in both:
        parameter.grad = torch.ones(2)
    update = UpdateGraph(lambda: None, both, tape.record)

    assert update.fits(both)
    both[1].grad = None
    assert not update.fits(both) and not update.fits([torch.nn.Parameter(torch.ones(2)), both[0]])


def test_a_step_after_a_bad_one_changes_nothing(tiny_store):
    recipe = small("spanbert-modern-small", "muon")
    packs = packs_of(recipe, tiny_store)
    updater = updater_of(recipe, tiny_store, Graphs([].append, record=tape.record))
    recorded(updater, packs)
    begun = [updater.begin(step + 1, packs[step], 1e-3) for step in range(3)]
    assert updater.graphs.update is not None
    before = [p.detach().clone() for p in updater.model.parameters()]
    updater.max_grad_norm = 1.0
    updater._bad.fill_(1.0)
    begun.append(updater.begin(4, packs[3], 1e-3))

    assert all(map(torch.equal, before, updater.model.parameters()))


def test_a_model_whose_packs_have_no_common_shape_is_told(question_store, monkeypatch):
    monkeypatch.setattr(span_selection, "MOST_PADDING", 0)  # as with very short sequences
    recipe = small("spanbert-selection-mini")
    packs, said = packs_of(recipe, question_store), []
    updater = updater_of(recipe, question_store, Graphs(said.append, record=tape.record))
    recorded(updater, packs)

    assert "so its kernels start one by one: packs differ in shape" in said[0]
    found, told = trained(updater, packs)
    wanted, also = trained(updater_of(recipe, question_store, Graphs(pytest.fail)), packs)
    assert told == also and all(map(torch.equal, found, wanted))


def test_what_the_host_knew_of_the_recorded_pack_is_found_by_another_pack(tiny_store):
    """Probabilities of attention are dropped sequence by sequence, by lengths that the host knows."""
    recipe = small("spanbert-tiny", attention_dropout=0.1)
    packs, said = packs_of(recipe, tiny_store), []
    updater = updater_of(recipe, tiny_store, Graphs(said.append, record=tape.record))
    recorded(updater, packs)

    assert updater.graphs.pack is None and not updater.graphs.wants_update
    assert "A pack can't be a CUDA graph here" in said[0] and "its kernels one by one" in said[0]
    assert all(parameter.grad is None for parameter in updater.model.parameters())


def test_gradients_that_a_graph_gives_otherwise_are_found(tiny_store):
    def record(compute):
        replay = tape.record(compute)

        def halved():
            replay()
            held[3].neg_()

        return halved

    said = []
    updater = updater_of(small("spanbert-tiny"), tiny_store, Graphs(said.append, record=record))
    held, forward = [], updater._compute

    def compute(*given):
        found = forward(*given)
        held[:] = [parameter.grad for parameter in updater._trainable]
        return found

    updater._compute = compute
    recorded(updater, packs_of(small("spanbert-tiny"), tiny_store))

    assert updater.graphs.pack is None and "gave other gradients" in said[0]


def test_what_waits_for_the_device_is_told(tiny_store):
    updater = updater_of(small("spanbert-tiny"), tiny_store, Graphs((said := []).append, record=tape.record))
    forward = updater.model.forward
    updater.model.forward = lambda batch: forward(batch) if batch.input_ids.sum().item() else {}
    recorded(updater, packs_of(small("spanbert-tiny"), tiny_store))

    assert updater.graphs.pack is None and "not permitted when stream is capturing" in said[0]


def test_an_update_that_a_graph_does_otherwise_is_done_kernel_by_kernel(tiny_store):
    recipe = small("spanbert-modern-small", "muon")
    packs, said, calls = packs_of(recipe, tiny_store), [], []

    def record(compute):
        calls.append(compute)
        replay = tape.record(compute)
        return replay if len(calls) == 1 else lambda: None

    updater = updater_of(recipe, tiny_store, Graphs(said.append, record=record))
    recorded(updater, packs)
    found, told = trained(updater, packs)

    wanted, also = trained(updater_of(recipe, tiny_store, Graphs(pytest.fail)), packs)
    assert (
        len(calls) == 2
        and updater.graphs.update is None
        and "An update can't be" in said[1]
        and "in another way" in said[1]
    )
    assert told == also and all(map(torch.equal, found, wanted))


def test_all_processes_use_a_graph_or_none(tiny_store):
    updater = updater_of(
        small("spanbert-tiny"), tiny_store, Graphs((said := []).append, agree=lambda failed: True, record=tape.record)
    )
    recorded(updater, packs_of(small("spanbert-tiny"), tiny_store))

    assert updater.graphs.pack is None and "another process could not" in said[0]


def test_a_run_without_a_gpu_says_that_it_has_no_graphs(tiny_store, tmp_path):
    recipe = small("spanbert-tiny")
    training = replace(recipe.training, max_tokens=None, max_steps=2, save_minutes=None, compile="graphs")
    log = RunLog(tmp_path / "run", stream=(said := io.StringIO()))
    with torch.compiler.set_stance("force_eager"):
        pretrain(replace(recipe, training=training), data=tiny_store.path, out=tmp_path / "run", device="cpu", log=log)

    assert "CUDA graphs need a GPU" in said.getvalue()
