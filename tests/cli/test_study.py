"""`spanwise study` on a user's own file: a table on the screen, three files, and the status of bad numbers."""

import json
import os
import subprocess
import sys

import pytest

from spanwise.cli.main import main

STUDY = """
from dataclasses import replace
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.objectives import MaskedLM
from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.recipe import PackedBatch
from spanwise.recipes import spanbert_tiny
from spanwise.studies import Study
from spanwise.studies.probes import MaskedTokens

def mine():
    tiny = spanbert_tiny()
    shape = EncoderConfig(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32, max_positions=64)
    training = replace(tiny.training, learning_rate=1e-2, precision="fp32", eval_every=None)
    sbo = replace(tiny, encoder=shape, format=SingleSegment(max_length=32), training=training,
                  batch=PackedBatch(tokens_per_step=256, max_tokens=256))
    arms = {"mlm": replace(sbo, objectives={"mlm": MaskedLM()}), "sbo": sbo}
    return Study(name="mine", question="Which?", arms=arms, probes=(MaskedTokens(max_tokens=300),))
"""


@pytest.fixture
def study(tmp_path) -> str:
    (tmp_path / "my_study.py").write_text(STUDY)
    return f"{tmp_path / 'my_study.py'}:mine"


def test_a_study_prints_its_tables_and_says_where_they_lie(study, tiny_store, tmp_path, capsys):
    data = ["--data", str(tiny_store.path), "--valid", str(tiny_store.path), "--out", str(tmp_path / "out")]
    assert main(["study", study, *data, "--seeds", "1", "--tokens", "600"]) == 0
    told = capsys.readouterr().out
    assert "sbo - mlm" in told and "one seed has no interval" in told and "report.html" in told
    assert main(["study", study, *data, "--seeds", "1", "--tokens", "600", "--json"]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    assert record["budget"]["tokens"] == {"mlm": 600, "sbo": 600} and record["study"] == "mine"


def test_a_study_with_a_run_that_diverged_ends_with_the_status_of_bad_numbers(study, tiny_store, tmp_path, capsys):
    data = ["--data", str(tiny_store.path), "--valid", str(tiny_store.path), "--out", str(tmp_path / "out")]
    hot = ["--set", "training.learning_rate=1e30", "--set", "training.max_grad_norm=0"]
    assert main(["study", study, *data, "--seeds", "1", "--tokens", "600", *hot]) == 5
    assert "sbo-0 diverged" in capsys.readouterr().out


@pytest.mark.slow
def test_two_processes_train_together_and_one_measures(study, tiny_store, tmp_path):
    data = ["--data", str(tiny_store.path), "--valid", str(tiny_store.path), "--seeds", "1", "--tokens", "1500"]
    halves = ["--set", "batch.tokens_per_step=512", "--json"]  # two packs a step
    command = [sys.executable, "-m", "spanwise", "study", study, *data, *halves]
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    both = []
    for name, more in (("two", ["--processes", "2"]), ("one", [])):
        out = ["--out", str(tmp_path / name)]
        done = subprocess.run([*command, *out, *more], capture_output=True, text=True, env=alone)
        assert done.returncode == 0, done.stderr
        figures = {figure["key"]: figure["arms"]["sbo"]["mean"] for figure in json.loads(done.stdout)["figures"]}
        both.append([figures[key] for key in ("span_mlm_loss", "span_sbo_loss", "piece_mlm_loss")])
    assert both[0] == pytest.approx(both[1], rel=1e-4)


def test_wrong_use_is_told_in_one_message(study, tiny_store, tmp_path, capsys):
    data = ["--data", str(tiny_store.path), "--out", str(tmp_path / "out")]
    assert main(["study", study, *data]) == 2
    assert "--valid STORE" in capsys.readouterr().err
    assert main(["study", study, *data, "--probe", "chunks"]) == 3
    assert "probe 'chunks' needs" in capsys.readouterr().err
    assert main(["study", study, *data, "--set", "masking.q=1"]) == 2
    assert "masking.q" in capsys.readouterr().err
