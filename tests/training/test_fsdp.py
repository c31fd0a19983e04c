"""FSDP2 changes where parameters lie, and no bit of what is computed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from processes import run
from safetensors.torch import load_file
from sharded import RUNS, Poisoned, one, runs
from tests.reliability.kills import ended, start_group

from spanwise.errors import NumericsError
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.loop import TIMING_FIELDS
from spanwise.training.parts import SavedTensors

EXACT = ("adamw", "muon", "lamb", "one pack")
LAST = Path("checkpoints") / "step-000000009"


def tensors_of(run: Path) -> dict[str, torch.Tensor]:
    saved = SavedTensors(run / LAST / "training")
    return {name: saved.rows(name) for name in saved.names}


def lines_of(run: Path) -> list[dict]:
    return [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_metrics(run / "metrics.jsonl")]


def assert_same_bits(found: Path, wanted: Path) -> None:
    theirs, mine = tensors_of(found), tensors_of(wanted)
    assert theirs.keys() == mine.keys()
    assert [name for name in mine if not torch.equal(theirs[name], mine[name])] == []
    final = load_file(found / "final" / "model.safetensors")
    alone = load_file(wanted / "final" / "model.safetensors")
    assert final.keys() == alone.keys() and all(torch.equal(final[name], alone[name]) for name in alone)
    assert lines_of(found) == lines_of(wanted)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    for name in (*EXACT, "added"):
        one(name, folder)
    return folder


@pytest.fixture(scope="module")
def by_two(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    statuses = ended(start_group(partial(runs, folder, [*RUNS, "bad"]), folder, 2))
    assert statuses == [0, 0], (folder.parent / f"{folder.name}.err").read_text()
    return folder


@pytest.mark.parametrize("name", EXACT)
def test_two_processes_with_exact_sums_give_the_bits_of_one(by_two, alone, name):
    """Weights, moments, log and final model; with three packs a step one process has a round of its own."""
    assert_same_bits(by_two / name, alone / name)


def test_without_exact_sums_losses_differ_by_rounding_alone_which_grows(by_two, alone):
    found, wanted = lines_of(by_two / "added"), lines_of(alone / "added")
    losses = [[line["loss"] for line in lines if "loss" in line] for lines in (found, wanted)]

    assert len(losses[0]) == 9
    assert losses[0][:2] == pytest.approx(losses[1][:2], rel=1e-6)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_each_process_keeps_half_of_the_matrices_and_writes_its_own_part(by_two, alone):
    first, second = (json.loads((by_two / f"told-{rank}.json").read_text())["bytes"][0] for rank in (0, 1))
    whole = 12 * sum(value.numel() for name, value in tensors_of(alone / "adamw").items() if "parameter/" in name)
    parts = sorted(path.name for path in (by_two / "adamw" / LAST / "training").glob("*.safetensors"))

    assert 0.5 * whole < max(first[0], second[0]) < 0.56 * whole
    assert max(first[1], second[1]) < 0.56 * whole / 3  # nobody holds the weights that were there before they were cut
    assert parts == ["optimizer-00001-of-00002.safetensors", "optimizer-00002-of-00002.safetensors"]
    assert not any("fsdp" in name.lower() or "_orig" in name for name in tensors_of(by_two / "adamw"))


def test_one_process_alone_is_told_that_it_keeps_the_whole_model(tmp_path, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(RunLog, "say", lambda self, words: told.append(words))
    run(tmp_path / "one", None, sharding="fsdp2", max_steps=2)
    assert any("training.sharding does nothing in one process" in words for words in told)


def test_one_process_goes_on_from_what_two_had_saved(by_two, alone, tmp_path):
    (by_two / "stopped").rename(tmp_path / "stopped")
    assert not (tmp_path / "stopped" / "final").exists()
    one("stopped", tmp_path, resume=True, stop=7)
    one("stopped", tmp_path, resume=True, stop=None)

    assert_same_bits(tmp_path / "stopped", alone / "adamw")


def test_a_bad_number_is_blamed_on_its_pack_by_all(by_two, tmp_path):
    with pytest.raises(NumericsError) as found:
        run(tmp_path / "bad", None, model=Poisoned())
    told = [json.loads((by_two / f"told-{rank}.json").read_text())["bad"] for rank in (0, 1)]

    words = str(found.value).partition("The last good checkpoint")[0]
    assert told[0].startswith(words) and told[1].startswith(words)
