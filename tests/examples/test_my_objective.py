"""The whole way of an objective and a head of a user's own, from a file that lies in no package."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from spanwise.cli.main import main
from spanwise.interop.huggingface import read_folder

FILE = Path(__file__).parents[2] / "examples" / "my_objective.py"
TINY = """encoder.hidden_size=16 encoder.intermediate_size=32 encoder.num_layers=1 training.max_steps=3
training.eval_every=3 batch.max_tokens=512 batch.tokens_per_step=1024 training.log_every=1 tokenizer.vocab_size=300"""
CHANGES = [word for change in TINY.split() for word in ("--set", change)]
STUDY = """
from dataclasses import replace
from spanwise import recipes
from spanwise.config import override
from spanwise.studies import Study
from spanwise.studies.probes import MaskedTokens

def lengths():
    own = override(recipes.find("{recipe}"), {changes!r})
    without = replace(own, objectives={{name: part for name, part in own.objectives.items() if name != "length"}})
    return Study(name="lengths", question="Does it help?", arms={{"with": own, "without": without}},
                 probes=(MaskedTokens(max_tokens=200),))
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """The example, copied to a folder of its own as a user would."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copy(FILE, folder)
    return f"{folder / FILE.name}:spanbert_lengths"


@pytest.fixture(scope="module")
def run(recipe, tiny_store, tmp_path_factory):
    out = tmp_path_factory.mktemp("own") / "run"
    store = str(tiny_store.path)
    assert main(["pretrain", recipe, "--data", store, "--valid", store, "--out", str(out), *CHANGES]) == 0
    return out


def length_head(folder):
    checkpoint = read_folder(folder)
    assert checkpoint.record["own_heads"]["length"]["class"] == "my_objective:LengthHead"
    return checkpoint.heads["length"]["weight"]


def test_the_file_has_forty_lines():
    assert len(FILE.read_text().splitlines()) <= 40


def test_it_is_shown_and_trained_and_measured(recipe, run, capsys):
    assert main(["show", "recipe", recipe]) == 0
    assert "length: SpanLength(weight=0.1)" in capsys.readouterr().out
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert all("length" in line["losses"] for line in lines if "losses" in line)
    assert 0 < lines[-1]["evaluation"]["length_loss"] < 10
    assert json.loads((run / "recipe.json").read_text())["objectives"]["length"]["part"] == "my_objective:SpanLength"


def test_the_folder_is_shown_with_its_head_and_where_it_comes_from(run, capsys):
    assert main(["show", "model", str(run / "final")]) == 0
    assert "length 330 (my_objective:LengthHead)" in " ".join(capsys.readouterr().out.split())
    assert main(["show", "model", str(run / "final"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["own_heads"]["length"]["class"] == "my_objective:LengthHead"
    assert "length" in (run / "final" / "README.md").read_text()


@pytest.mark.slow
def test_another_process_goes_on_from_a_checkpoint_to_the_same_weights(recipe, run, tiny_store, tmp_path):
    store, half = str(tiny_store.path), tmp_path / "half"
    options = ["--data", store, "--valid", store, "--out", str(half), *CHANGES, "--set", "training.save_every=2"]
    main(["pretrain", recipe, *options])
    shutil.rmtree(half / "final")
    for folder in (half / "checkpoints").iterdir():
        if not folder.name.endswith("2"):
            shutil.rmtree(folder)
    command = [sys.executable, "-m", "spanwise", "pretrain", recipe, *options, "--resume"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert torch.equal(length_head(half / "final"), length_head(run / "final"))


def test_going_on_from_the_folder_goes_on_with_the_head_and_another_recipe_keeps_it(recipe, run, tiny_store, tmp_path):
    before, init = length_head(run / "final"), ["--data", str(tiny_store.path), "--init", str(run / "final"), *CHANGES]
    still = ["--set", "training.learning_rate=1e-12"]
    assert main(["pretrain", recipe, *init, *still, "--out", str(tmp_path / "again")]) == 0
    torch.testing.assert_close(length_head(tmp_path / "again" / "final"), before, rtol=0, atol=1e-6)
    assert main(["pretrain", "spanbert-mini", *init, "--out", str(tmp_path / "other")]) == 0
    assert torch.equal(length_head(tmp_path / "other" / "final"), before)


def test_fine_tuning_and_conversion_keep_the_head(run, tmp_path):
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "".join(f"the old river {i}\t{i % 2}\n" for i in range(8)))
    train = ["--train", str(tmp_path / "train.tsv"), "--out", str(tmp_path / "tuned"), "--set", "training.max_steps=1"]
    assert main(["finetune", "classification", "--model", str(run / "final"), *train]) == 0
    assert torch.equal(length_head(tmp_path / "tuned" / "final"), length_head(run / "final"))
    assert main(["convert", str(tmp_path / "tuned" / "final"), str(tmp_path / "converted")]) == 0
    assert torch.equal(length_head(tmp_path / "converted"), length_head(run / "final"))


@pytest.mark.slow
def test_two_processes_train_it_together(recipe, tiny_store, tmp_path):
    command = [sys.executable, "-m", "spanwise", "pretrain", recipe, "--data", str(tiny_store.path), *CHANGES]
    subprocess.run([*command, "--out", str(tmp_path / "run"), "--processes", "2"], check=True, capture_output=True)
    assert length_head(tmp_path / "run" / "final").shape == (10, 32)


def test_a_study_compares_it(recipe, tiny_store, tmp_path, capsys):
    (tmp_path / "my_study.py").write_text(
        STUDY.format(recipe=recipe, changes=[c for c in TINY.split() if "max_steps" not in c])
    )
    data = ["--data", str(tiny_store.path), "--valid", str(tiny_store.path), "--out", str(tmp_path / "out")]
    assert main(["study", f"{tmp_path / 'my_study.py'}:lengths", *data, "--seeds", "1", "--tokens", "600"]) == 0
    assert "without - with" in capsys.readouterr().out
