"""Labels decide between start and result, and a start that no loss can judge needs them."""

import json
import shutil
from types import SimpleNamespace

import pytest
import torch

from spanwise.adapt import proof
from spanwise.adapt.proof import Labels
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import verify_folder
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.run import finetune


@pytest.fixture
def taught():
    """What each model was taught from: the model that it began as, the labels, the seed."""
    return []


@pytest.fixture
def labels(tmp_path, monkeypatch, taught):
    """Eight sentences of two kinds, two seeds, and models that are taught for two steps."""

    def briefly(task, *, overrides, **named):
        taught.append((named["model"], named["train"], *overrides))
        return finetune(task, overrides=[*overrides, "training.max_steps=2"], **named)

    monkeypatch.setattr(proof, "finetune", briefly)
    monkeypatch.setattr(proof, "NUM_SEEDS", 2)
    rows = [f"the tall mill stood under willow {n}\twet" if n % 2 else f"geese slept home {n}\tdry" for n in range(8)]
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
        rows = rows[:4]
    return Labels(task="classification", train=tmp_path / "train.tsv", dev=tmp_path / "dev.tsv")


@pytest.fixture
def scored(monkeypatch):
    """Replace scores by those in a list, and note which models were scored."""

    def replace(values):
        given, models = iter(values), []

        def evaluate(task, *, model, data, device):
            models.append((model, data))
            value = next(given)
            if isinstance(value, Exception):
                raise value
            return SimpleNamespace(scores={"accuracy": value})

        monkeypatch.setattr(proof, "evaluate", evaluate)
        return models

    return replace


def test_a_start_that_no_loss_can_judge_is_refused_with_both_ways_out(start_without_heads, run_adapt, tmp_path):
    with pytest.raises(ConfigError, match=r"no head for masked tokens.*--proof TASK TRAIN DEV.*--unproven"):
        run_adapt(start_without_heads)
    assert not (tmp_path / "out").exists()


def test_what_scores_better_with_every_seed_is_kept(start_without_heads, run_adapt, labels, scored, taught, tmp_path):
    models = scored([50.0, 60.0, 52.0, 62.5])
    result = run_adapt(start_without_heads, general_bound=0.9, proof=labels)
    found = result.record.proof
    assert (found.start, found.adapted) == ([50.0, 52.0], [60.0, 62.5]) and found.is_won and found.low > 0
    assert result.record.outcome == "adapted" and not (tmp_path / "out" / "unproven").exists()
    assert not list((tmp_path / "out" / "proof").glob("*/")) and {data for _, data in models} == {labels.dev}
    sides = [(start_without_heads, "start"), (result.final, "adapted")]
    folders = [tmp_path / "out" / "proof" / f"{side}-seed-{seed}" for seed in (0, 1) for _, side in sides]
    assert [model for model, _ in models] == [folder / "final" for folder in folders]
    assert taught == [(model, labels.train, f"training.seed={seed}") for seed in (0, 1) for model, _ in sides]
    told = "the start has accuracy 51.0 and the adapted model 61.2, +10.2"
    assert any(told in line and "the result is kept" in line for line in result.report)
    assert not any("this loss does not tell" in line for line in result.report)


def test_the_start_is_kept_where_chance_may_have_won(start, run_adapt, labels, scored, tmp_path):
    scored([50.0, 60.0, 52.0, 52.0])
    result = run_adapt(start, general_bound=0.9, proof=labels)
    record = result.record
    assert record.outcome == "unchanged" and record.kept is not None
    assert record.kept_step == 0 and record.after == record.before
    assert any(f"from {record.before.own.loss:.3f} to {record.kept.own:.3f} nats" in line for line in result.report)
    given, kept, left = (read_folder(folder) for folder in (start, result.final, tmp_path / "out" / "unproven"))
    for name, tensor in given.tensors.items():
        assert torch.equal(kept.tensors[name], tensor)
    assert any(not torch.equal(left.tensors[name], tensor) for name, tensor in given.tensors.items())
    for folder in (result.final, left.folder):
        verify_folder(folder)
    told = "The seeds differ by more than that: the start is kept, and the adapted weights lie in"
    assert any(told in line for line in result.report)
    assert "kept unchanged: adapted to" in (result.final / "README.md").read_text()
    written = json.loads((tmp_path / "out" / "adaptation.json").read_text())
    assert written["proof"]["start"] == [50.0, 52.0] and written["outcome"] == "unchanged"
    for labels_again in (labels, None):  # what labels have decided stays decided
        again = run_adapt(start, general_bound=0.9, proof=labels_again, resume=True)
        assert again.record == result.record and torch.equal(*(weights(one) for one in (again.final, start)))


def weights(folder):
    """All weights of an encoder, end to end."""
    return torch.cat([tensor.float().flatten() for _, tensor in sorted(read_folder(folder).tensors.items())])


def test_a_clear_loss_is_called_harm_and_another_proof_may_put_the_adapted_weights_back(
    start, run_adapt, labels, scored, taught, tmp_path
):
    scored([61.0, 50.0, 61.0, 51.0])
    lost = run_adapt(start, general_bound=0.9, proof=labels)
    assert any("So adapting did harm: the start is kept" in line for line in lost.report)
    out = tmp_path / "out"
    adapted = weights(out / "unproven")
    (out / "proof" / "proof.json").unlink()
    (out / "proof" / "adapted-seed-1.json").unlink()  # as if stopped before it: what is left is compared with it
    scored([50.5])
    taught.clear()
    run_adapt(start, general_bound=0.9, proof=labels, resume=True)
    assert [model for model, *_ in taught] == [out / "unproven"]
    shutil.rmtree(out / "proof")
    scored([50.0, 61.0, 51.0, 61.5])
    for _ in range(2):
        won = run_adapt(start, general_bound=0.9, proof=labels, resume=True)
        assert won.record.outcome == "adapted" and torch.equal(weights(won.final), adapted)
        assert not (out / "unproven").exists()


def test_a_proof_that_was_stopped_goes_on(start, run_adapt, labels, scored, tmp_path):
    scored([50.0, 60.0, KeyError("stopped")])
    with pytest.raises(KeyError):
        run_adapt(start, general_bound=0.9, proof=labels)
    assert not (tmp_path / "out" / "adaptation.json").exists()
    models = scored([52.0, 62.5])
    result = run_adapt(start, general_bound=0.9, proof=labels, resume=True)
    assert len(models) == 2 and result.record.proof.adapted == [60.0, 62.5]
    labels.dev.write_text(labels.dev.read_text() + "more geese\tdry\n")
    with pytest.raises(ConfigError, match="has scores by other labels"):
        run_adapt(start, general_bound=0.9, proof=labels, resume=True)
    (tmp_path / "out" / "proof" / "labels.json").write_text("")
    with pytest.raises(CheckpointError, match=r"labels.json is damaged; remove the folder"):
        run_adapt(start, general_bound=0.9, proof=labels, resume=True)


def test_labels_that_were_mended_before_the_first_score_are_taken(start, run_adapt, labels, scored):
    scored([KeyError("stopped")])
    with pytest.raises(KeyError):
        run_adapt(start, general_bound=0.9, proof=labels)
    labels.dev.write_text(labels.dev.read_text() + "more geese\tdry\n")
    scored([50.0, 60.0, 52.0, 62.5])
    assert run_adapt(start, general_bound=0.9, proof=labels, resume=True).record.proof.is_won


def test_scores_are_those_of_fine_tuned_models(start, run_adapt, labels, monkeypatch):
    seen = []

    def noted(task, **named):
        seen.append(evaluate(task, **named))
        return seen[-1]

    monkeypatch.setattr(proof, "evaluate", noted)
    found = run_adapt(start, general_bound=0.9, proof=labels).record.proof
    assert found.score == "accuracy"
    pairs = [pair for seed in zip(found.start, found.adapted, strict=True) for pair in seed]
    assert pairs == [one.scores["accuracy"] for one in seen]


def test_a_start_that_is_kept_by_the_loss_needs_no_proof(start, run_adapt, labels, scored):
    models = scored([])
    result = run_adapt(start, steps=8, overrides=["training.learning_rate=1e-30"], proof=labels)
    assert result.record.outcome == "unchanged" and result.record.proof is None and not models


@pytest.mark.parametrize(
    ("task", "name", "error", "told"),
    [
        ("weather", "train.tsv", ConfigError, "weather"),
        ("classification", "nowhere.tsv", DataError, "nowhere.tsv"),
        ("classification", "no-header.tsv", DataError, "no-header.tsv"),
        ("qa", "train.tsv", DataError, "train.tsv"),
    ],
)
def test_labels_that_cannot_be_learned_from_are_named_before_any_minute_is_spent(labels, task, name, error, told):
    labels.dev.with_name("no-header.tsv").write_text("geese slept home\tdry\n")
    with pytest.raises(error, match=told):
        Labels(task=task, train=labels.train.with_name(name), dev=labels.dev)
    with pytest.raises(error, match=told):
        Labels(task=task, train=labels.train, dev=labels.train.with_name(name))
