"""A run folder as the training loop leaves it, written by hand."""

import json

import pytest


@pytest.fixture
def write_run():
    return _write_run


def _write_run(folder, steps=5, cut=False):
    folder.mkdir(parents=True)
    lines = [{"step": 0, "evaluation": {"loss": 9.0, "mlm_loss": 9.0}}]
    for step in range(1, steps + 1):
        lines.append(
            {
                "step": step,
                "losses": {"mlm": 9.0 - step, "sbo": None},
                "tokens": 100 * step,
                "tokens_per_second": 50.0 * step,
                "seconds": float(step),
                "learning_rate": 1e-3,
                "time": {"forward": 1.0, "data": 0.5, "total": 1.5},
            }
        )
    lines.append({"step": steps, "evaluation": {"loss": 4.0, "mlm_loss": 4.0, "dev_f1": 12.0}})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text + ('{"step": 6, "loss' if cut else ""), encoding="utf-8")
    (folder / "recipe.json").write_text(json.dumps({"name": folder.name, "training": {"learning_rate": 0.1}}))
    record = {
        "lengths": [20, 30],
        "spans": [[0, 1, 4], [1, 2, 3]],
        "span_lengths": {"1": 1, "3": 1},
        "num_hidden": 4,
        "num_tokens": 46,
        "num_spans": 2,
    }
    (folder / "masks.json").write_text(json.dumps(record))
    return folder
