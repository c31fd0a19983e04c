"""The example's recipes train from the command line, and their folders load."""

import json
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main

FILE = Path(__file__).parents[2] / "examples" / "my_recipes.py"
TINY = """encoder.hidden_size=16 encoder.intermediate_size=32 encoder.num_layers=1 training.max_steps=3
training.eval_every=null batch.max_tokens=512 batch.tokens_per_step=512 training.log_every=1"""


def train(function, store, out, *more):
    changes = [part for change in [*TINY.split(), *more] for part in ("--set", change)]
    assert main(["pretrain", f"{FILE}:{function}", "--data", str(store), "--out", str(out), *changes]) == 0
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_electra_over_recurring_spans_trains_three_losses_and_both_halves_load(tiny_store, tmp_path):
    run = tmp_path / "run"
    lines = train("electra_recurring", tiny_store.path, run, "corruption.size=0.5")
    assert lines[-1]["losses"].keys() == {"mlm", "sbo", "rtd"}
    for folder in (run / "final", run / "final" / "generator"):
        assert spanwise.load(folder).encode(["The old river."])


def test_a_masking_of_ones_own_is_named_in_the_record_and_hides_what_it_says(tiny_store, tmp_path):
    run = tmp_path / "run"
    train("spanbert_last_words", tiny_store.path, run)
    assert json.loads((run / "recipe.json").read_text())["masking"]["function"] == "my_recipes:last_words"
    assert main(["show", "recipe", f"{FILE}:spanbert_last_words"]) == 0


@pytest.mark.parametrize("function", ["electra_recurring", "spanbert_last_words"])
def test_they_are_shown_like_any_other(function, capsys):
    assert main(["show", "recipe", f"{FILE}:{function}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["total"] > 0
