"""A probe's own fine-tuning: its scores are kept, its weights are not, and it is not run again."""

import json

import pytest

from spanwise.studies.probes import Chunks
from spanwise.studies.probes.finetuned import finetuned_scores, usual_rate


def test_scores_are_kept_and_weights_are_not(context_of):
    context = context_of(Chunks())
    files = context.material.files
    asked = {"train": files["train"], "dev": files["dev"], "overrides": ["training.num_epochs=1", "batch_size=4"]}
    scores = finetuned_scores(context, "short", "tagging", **asked)
    run = context.out / "short"
    assert scores["f1"] >= 0 and not (run / "final").exists() and not list((run / "checkpoints").glob("*"))
    record = json.loads((run / "recipe.json").read_text())["recipe"]
    assert record["training"]["seed"] == context.seed
    assert record["training"]["learning_rate"] == pytest.approx(usual_rate(16))
    before = (run / "metrics.jsonl").stat().st_mtime_ns
    assert finetuned_scores(context, "short", "tagging", **asked) == scores
    assert (run / "metrics.jsonl").stat().st_mtime_ns == before


def test_wider_encoders_learn_at_lower_rates():
    assert usual_rate(128) == 1e-3
    assert 5e-5 < usual_rate(768) < 1e-4
