"""How many packs carry a step, under a memory that is pretended: found once, recorded, kept, refused."""

import io
import json
import shutil
from dataclasses import replace

import pytest
import torch

from spanwise.errors import CheckpointError, ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.packing import fitting
from spanwise.pretraining.packing.fitting import candidates
from spanwise.pretraining.packing.repacked import most_tokens
from spanwise.pretraining.recipe import PackedBatch
from spanwise.pretraining.run import pretrain
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.loop import TIMING_FIELDS

PLENTY, LITTLE = 10**12, 3_000_000


@pytest.fixture
def memory(monkeypatch):
    """A function that pretends so many bytes of memory; None is a CPU as it is."""

    def pretend(room):
        monkeypatch.setattr(fitting, "free_memory", lambda device: room)

    return pretend


def recipe_of(**batch):
    recipe = spanbert_tiny()
    shape = dict(hidden_size=32, num_layers=2, num_heads=2, intermediate_size=64, max_positions=64)
    options = dict(
        max_tokens=None, max_steps=4, eval_every=None, save_every=2, log_every=1, threads=1, precision="fp32"
    )
    return replace(
        recipe,
        encoder=replace(recipe.encoder, **shape, hidden_dropout=0.1),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=2048, max_tokens=512, **batch),
        training=replace(recipe.training, **options),
    )


def run(store, out, recipe=None, resume=False, **options):
    """What the run said, the number of packs in its record, whether it recomputed, and its log without times."""
    told = io.StringIO()
    recomputed = []
    forward = Encoder.forward

    def watched(encoder, *arguments):
        recomputed.append(encoder.recomputes)
        return forward(encoder, *arguments)

    Encoder.forward = watched
    try:
        log = RunLog(out, stream=told)
        pretrain(recipe or recipe_of(), data=store.path, out=out, log=log, resume=resume, **options)
    finally:
        Encoder.forward = forward
    lines = [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_metrics(out / "metrics.jsonl")]
    packs = json.loads((out / "recipe.json").read_text())["batch"]["packs"]
    return told.getvalue(), packs, recomputed[-1], lines


def need(store, tmp_path, memory, text):
    """The bytes that a refusal names."""
    memory(1)
    with pytest.raises(ConfigError, match=text) as refused:
        run(store, tmp_path / "refused")
    assert not (tmp_path / "refused" / "plan.jsonl").exists()
    return float(str(refused.value).split("needs about ")[1].split(" GB")[0]) * 1e9


def test_a_cpu_keeps_the_packs_of_the_recipe_and_says_nothing(tiny_store, tmp_path):
    said, packs, recomputed, lines = run(tiny_store, tmp_path / "run")
    assert packs == "auto" and not recomputed and "computed in" not in said and len(lines) == 4


def test_less_memory_asks_for_more_packs_then_for_computing_again_and_the_losses_stay(tiny_store, tmp_path, memory):
    _, _, _, plain = run(tiny_store, tmp_path / "plain")
    least = need(tiny_store, tmp_path, memory, "the smallest packs") / fitting.SHARE
    found = []
    for number, room in enumerate((PLENTY, LITTLE, 1.05 * least)):
        memory(int(room))
        said, packs, recomputed, lines = run(tiny_store, tmp_path / f"run-{number}")
        assert f"in {packs} pack(s) of at most" in said and "found by a trial" in said
        assert ("computed again" in said) == recomputed
        found.append((packs, recomputed))
        for line, expected in zip(lines, plain, strict=True):
            assert line["losses"] == pytest.approx(expected["losses"], rel=5e-5)  # rounding: 1.4e-5 was seen
            assert line["tokens"] == expected["tokens"] and line["epoch"] == expected["epoch"]
    (most, _), (some, _), (few, again) = found
    assert most == 1 < some <= few and not found[1][1] and again


def test_the_packs_are_recorded_and_kept_where_a_run_goes_on_and_activations_change_no_bit(
    tiny_store, tmp_path, memory
):
    memory(PLENTY)
    _, packs, _, lines = run(tiny_store, tmp_path / "run", recipe_of(packs=2))
    assert packs == 2
    memory(LITTLE)
    _, packs, _, begun = run(tiny_store, tmp_path / "stopped")
    assert packs > 2
    shutil.rmtree(tmp_path / "stopped" / "final")
    shutil.rmtree(tmp_path / "stopped" / "checkpoints" / "step-000000004")
    for room, again in ((PLENTY, False), (None, False), (0, None), (LITTLE * 2 // 3, True)):
        copy = tmp_path / f"copy-{room}"
        shutil.copytree(tmp_path / "stopped", copy)
        memory(room)
        if again is None:
            with pytest.raises(ConfigError, match=rf"a step in {packs} pack\(s\), as it was begun"):
                run(tiny_store, copy, resume=True)
            continue
        said, kept, recomputed, resumed = run(tiny_store, copy, resume=True)
        assert (kept, recomputed, resumed) == (packs, again, begun)
        assert room is None or "as recorded" in said
    with pytest.raises(ConfigError, match=r"batch\.packs"):
        run(tiny_store, tmp_path / "stopped", recipe_of(packs=5), resume=True)
    assert lines[-1]["losses"] == pytest.approx(begun[-1]["losses"], rel=1e-5)


def test_a_record_that_was_changed_or_damaged_is_refused(tiny_store, tmp_path, memory):
    memory(LITTLE)
    out = tmp_path / "run"
    run(tiny_store, out)
    record = json.loads((out / "recipe.json").read_text())
    record["batch"]["packs"] = 2
    (out / "recipe.json").write_text(json.dumps(record))
    memory(PLENTY)
    with pytest.raises(ConfigError, match=r"batch\.packs"):
        run(tiny_store, out, resume=True)
    (out / "recipe.json").write_text("{}")
    with pytest.raises(CheckpointError, match="how many packs"):
        run(tiny_store, out, resume=True)


def test_what_a_trial_leaves_behind_is_nothing(tiny_store, tmp_path, memory):
    """Runs of the same packs are equal bit for bit, whether they were found, asked for or the recipe's own."""
    _, _, _, plain = run(tiny_store, tmp_path / "plain")
    memory(PLENTY)
    _, packs, _, asked = run(tiny_store, tmp_path / "asked", recipe_of(packs=4))
    assert packs == 4 and asked == plain
    weights = [(tmp_path / name / "final" / "model.safetensors").read_bytes() for name in ("plain", "asked")]
    assert weights[0] == weights[1]


def test_a_pack_that_runs_out_of_memory_when_it_is_tried_is_not_taken(tiny_store, tmp_path, memory, monkeypatch):
    memory(PLENTY)
    forward = Encoder.forward

    def limited(encoder, ids, *others):
        if len(ids) > 1024:
            raise torch.OutOfMemoryError("a pretended device is full")
        return forward(encoder, ids, *others)

    monkeypatch.setattr(Encoder, "forward", limited)
    assert run(tiny_store, tmp_path / "run")[1] == 2


@pytest.mark.parametrize("num_processes", [1, 2, 3])
@pytest.mark.parametrize("tokens", [2_048, 131_072, 4_194_304])
def test_numbers_of_packs_go_from_the_fewest_that_are_sensible_to_a_sequence_or_two(tokens, num_processes):
    batch = PackedBatch(tokens_per_step=tokens, max_tokens=min(tokens, 16_384))
    counts = candidates(batch, 512, num_processes)
    sizes = [most_tokens(batch.max_tokens, 512, batch.packs_per_step, count) for count in counts]
    assert all(count % num_processes == 0 for count in counts) and sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 1024 and sizes[0] <= max(fitting.ENOUGH_TOKENS, batch.max_tokens)
