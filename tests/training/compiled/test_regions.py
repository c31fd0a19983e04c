"""What is compiled is compiled once, whole, and computes what it computed before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.training.compiled.small import small
from torch._dynamo.utils import counters

from spanwise import recipes
from spanwise.pretraining.objectives import span_selection
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model, training_source
from spanwise.training.compiled import regions
from spanwise.training.compiled.regions import CACHE_VARIABLE, compiled_regions, is_wanted, keep_compiled


@pytest.fixture(autouse=True)
def _no_machine_code(monkeypatch, tmp_path):
    """Graphs as inductor gets them, run as they are: what is traced and how often shows without a C++ compiler."""
    monkeypatch.setattr(regions, "BACKEND", "eager")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "compiled"))
    torch._dynamo.reset()
    counters.clear()


def measured(model, batch):
    """Loss sums, correct guesses, and all gradients."""
    model.zero_grad()
    losses = model(batch)
    sum(loss.sum for loss in losses.values()).backward()
    numbers = [float(value) for loss in losses.values() for value in (loss.sum.detach(), loss.num_correct)]
    return numbers, [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("spanbert-modern-small", {"mlm", "sbo"}),
        ("bert-base", {"mlm", "nsp"}),
        ("electra-mini", {"mlm"}),
        ("spanbert-selection-mini", {"mlm", "sbo", "span_selection"}),
    ],
)
def test_no_graph_breaks_nothing_is_compiled_twice_and_losses_stay(name, heads, question_store):
    recipe = small(name, hidden_dropout=0.0)
    model = build_model(recipe, question_store.vocabulary.size).train()
    packs = [pack for index in range(3) for pack in training_source(recipe, question_store).step(index)]
    assert len({pack.sequences.lengths for pack in packs}) > 1 and len({pack.counts["mlm"] for pack in packs}) > 1
    plain = [measured(model, pack) for pack in packs]
    said: list[str] = []

    with compiled_regions(model, packs[0], lambda: measured(model, packs[0]), said.append) as works:
        assert works and said[0].startswith(f"Compiled {len(model.regions(packs[0]))} parts in ")
        graphs = counters["stats"]["unique_graphs"]
        compiled = [measured(model, pack) for pack in packs]
        model.eval()
        model(packs[1])

    assert {"encoder.embeddings", "encoder.layers.1"} < set(model.regions(packs[0]))
    assert {f"heads.{head}" for head in heads} == {one for one in model.regions(packs[0]) if one.startswith("heads")}
    assert 4 <= graphs <= 6 and counters["stats"]["unique_graphs"] == graphs and not counters["graph_break"]
    for (losses, gradients), (wanted_losses, wanted_gradients) in zip(compiled, plain, strict=True):
        assert losses == pytest.approx(wanted_losses, rel=1e-5)
        for one, other in zip(gradients, wanted_gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert "forward" not in vars(model.encoder.layers[0])  # the model is left as it came


def test_a_pack_that_needs_more_than_the_common_shape_is_computed_as_the_model_stands(question_store):
    recipe = small("splinter-mini", hidden_dropout=0.0)
    recipe = replace(recipe, batch=replace(recipe.batch, tokens_per_step=1024, max_tokens=1024))
    model = build_model(recipe, question_store.vocabulary.size).train()
    source = training_source(recipe, question_store)
    usual = source.step(0)[0]
    shape = source.collator.parts.shape
    tight = replace(shape, tried={**shape.tried, "pointers": (1.0,)})
    source.collator.parts = replace(source.collator.parts, shape=tight)
    other = source.step(1)[0]
    assert usual.is_usual and not other.is_usual
    assert other.targets["span_selection"].count != usual.targets["span_selection"].count
    plain = [measured(model, pack) for pack in (other, usual)]

    with compiled_regions(model, usual, lambda: measured(model, usual), lambda said: None):
        graphs = counters["stats"]["unique_graphs"]
        (losses, gradients), (usual_losses, _) = [measured(model, pack) for pack in (other, usual)]

    assert counters["stats"]["unique_graphs"] == graphs
    assert losses == plain[0][0] and all(map(torch.equal, gradients, plain[0][1]))
    assert usual_losses == pytest.approx(plain[1][0], rel=1e-5)


def test_a_head_serves_targets_of_the_kind_that_it_was_rehearsed_with(question_store, monkeypatch):
    """Pointers lie in slots or in a flat array, by the lengths of the sequences, which a length warm-up changes."""
    recipe = small("splinter-mini", hidden_dropout=0.0)
    model = build_model(recipe, question_store.vocabulary.size).train()
    first, other = (training_source(recipe, question_store).step(index)[0] for index in (0, 1))
    monkeypatch.setattr(span_selection, "MOST_PADDING", 0)
    flat = training_source(recipe, question_store).step(1)[0]
    assert type(flat.targets["span_selection"]) is not type(first.targets["span_selection"])
    wanted, _ = measured(model, flat)

    with compiled_regions(model, first, lambda: measured(model, first), lambda said: None):
        graphs = counters["stats"]["unique_graphs"]
        losses = [measured(model, pack)[0] for pack in (other, flat)]

    assert counters["stats"]["unique_graphs"] == graphs and not counters["graph_break"]
    assert losses[0] == pytest.approx(wanted, rel=1e-5) and losses[1] == pytest.approx(wanted, rel=1e-5)


def test_rehearsed_on_a_pack_that_needs_more_it_still_tells_whether_torch_can_compile(question_store, monkeypatch):
    recipe = small("splinter-mini", hidden_dropout=0.0)
    model = build_model(recipe, question_store.vocabulary.size).train()
    odd = replace(training_source(recipe, question_store).step(0)[0], is_usual=False)
    monkeypatch.setattr(regions, "BACKEND", _breaks)
    with compiled_regions(model, odd, lambda: measured(model, odd), [].append) as works:
        assert not works


def test_packs_without_a_common_shape_are_not_compiled_and_told(tiny_store):
    recipe = replace(small("spanbert-tiny", hidden_dropout=0.0), batch=recipes.find("spanbert-tiny").batch)
    model = build_model(recipe, tiny_store.vocabulary.size).train()
    said: list[str] = []

    with compiled_regions(model, training_source(recipe, tiny_store).step(0)[0], pytest.fail, said.append) as works:
        assert not works and "batch.fixed" in said[0]


def test_what_torch_cannot_compile_is_said_and_computed_as_it_stands(tiny_store, monkeypatch):
    recipe = small("spanbert-tiny", hidden_dropout=0.0)
    model = build_model(recipe, tiny_store.vocabulary.size).train()
    pack = training_source(recipe, tiny_store).step(0)[0]
    plain, said = measured(model, pack), []
    monkeypatch.setattr(regions, "BACKEND", _breaks)

    with compiled_regions(model, pack, lambda: measured(model, pack), said.append) as works:
        assert not works and "no C++ compiler here" in said[0]
        losses, gradients = measured(model, pack)

    assert losses == plain[0] and all(map(torch.equal, gradients, plain[1]))


def _breaks(graph, inputs):
    raise RuntimeError("no C++ compiler here")


def test_a_compiled_run_that_goes_on_has_the_bits_of_a_whole_one(tiny_store, tmp_path):
    recipe = small("spanbert-tiny", hidden_dropout=0.1)
    training = replace(recipe.training, max_tokens=None, max_steps=4, save_every=2, save_minutes=None, compile="on")
    recipe = replace(recipe, training=replace(training, precision="fp32"), batch=replace(recipe.batch, fixed=None))
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "whole", device="cpu")
    shutil.copytree(tmp_path / "whole", tmp_path / "resumed")
    shutil.rmtree(tmp_path / "resumed" / "final")
    shutil.rmtree(next((tmp_path / "resumed" / "checkpoints").glob("step-*4")))

    result = pretrain(recipe, data=tiny_store.path, out=tmp_path / "resumed", device="cpu", resume=True)

    assert result.resumed_from == 2 and counters["stats"]["unique_graphs"] > 0
    one, other = ((tmp_path / name / "final" / "model.safetensors").read_bytes() for name in ("whole", "resumed"))
    assert one == other


def test_a_gpu_compiles_by_itself_and_a_processor_when_asked():
    gpu, processor = torch.device("cuda"), torch.device("cpu")

    hows = ("auto", "on", "graphs", "off")
    assert [is_wanted(how, gpu) for how in hows] == [True, True, True, False]
    assert [is_wanted(how, processor) for how in hows] == [False, True, True, False]


def test_compiled_code_is_kept_in_the_users_cache_unless_a_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert keep_compiled() == tmp_path / "compiled"

    for unnamed in ("", str(Path(regions.tempfile.gettempdir()) / "torchinductor_someone")):
        monkeypatch.setenv(CACHE_VARIABLE, unnamed)
        assert keep_compiled() == tmp_path / "spanwise" / "torch"

    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    assert keep_compiled() is None
