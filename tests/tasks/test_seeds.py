"""Several seeds: one run each, mean and deviation of all."""

import json
import statistics

import pytest

from spanwise.errors import ConfigError
from spanwise.tasks.seeds import Spread, finetune_seeds, spread

SHORT = ["training.max_steps=2", "training.precision=fp32", "training.learning_rate=1e-2"]


def test_each_seed_has_its_run_and_the_summary_has_mean_and_deviation(pretrained_folder, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\nThe Han\ta\nkm km\tb\nIn Seoul\ta\nand and\tb\n")
    asked = {"model": pretrained_folder, "train": path, "dev": path, "out": tmp_path / "out", "overrides": SHORT}
    found = finetune_seeds("classification", 2, **asked)
    values = [run.scores["accuracy"] for run in found.runs]
    score = found.scores["accuracy"]
    assert (score.mean, score.deviation) == (statistics.mean(values), pytest.approx(statistics.stdev(values)))
    assert score.values == tuple(values)
    written = json.loads((tmp_path / "out" / "seeds.json").read_text())["scores"]["accuracy"]
    assert written == {"mean": score.mean, "deviation": score.deviation, "values": values}
    assert found.best.parent.name == f"seed-{values.index(max(values))}" and found.best.is_dir()
    weights = [(run.final / "model.safetensors").read_bytes() for run in found.runs]
    assert weights[0] != weights[1]
    again = finetune_seeds("classification", 2, **asked, resume=True)  # whole runs are kept
    assert [run.scores for run in again.runs] == [run.scores for run in found.runs]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_seeds": 1}, "2 or more"),
        ({"dev": None}, "give --dev FILE"),
        ({"overrides": ["training.seed=3"]}, "contradict each other"),
    ],
)
def test_seeds_that_tell_nothing_are_refused_before_any_run(tmp_path, change, words):
    asked = {"num_seeds": 2, "dev": "dev.tsv", "out": tmp_path / "out", "overrides": [], **change}
    with pytest.raises(ConfigError, match=words):
        finetune_seeds("classification", model="none", train="none", **asked)
    assert not (tmp_path / "out").exists()


def test_the_deviation_is_that_of_a_sample():
    assert spread([1.0, 3.0]) == Spread(2.0, pytest.approx(2**0.5), (1.0, 3.0))
