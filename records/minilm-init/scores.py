"""Official EM and F1 of every fine-tuned arm on SQuAD 1.1 dev, standard errors over its articles, and the differences.

usage: scores.py DEV_FILE OUT_FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np

from spanwise.runtime.progress import read_metrics
from spanwise.tasks.qa.reader import read_predictions, read_questions
from spanwise.tasks.qa.score import raw_scores, score
from spanwise.training.statistics import clustered_mean, paired_difference

ARMS = ("as-it-came", "trained-on", "trained-on-gently", "trained-on-at-two-rates", "random-weights")

dev, out = Path(sys.argv[1]), Path(sys.argv[2])
data = read_questions(dev, purpose="score")
articles = np.unique([data.titles[question.paragraph] for question in data.questions], return_inverse=True)[1]
arms, rows = {}, {}
for name in ARMS:
    folder = out / f"qa-{name}"
    if not (folder / "predictions.json").exists():
        continue
    predictions = read_predictions(folder / "predictions.json")
    official, raw = score(data, predictions), raw_scores(data, predictions)
    arms[name] = {"total": official["total"]}
    for key, values in (("exact", raw.exact), ("f1", raw.f1)):
        rows[name, key] = 100 * np.array([values.get(question.id, 0.0) for question in data.questions])
        arms[name][key] = official[key]
        arms[name][f"{key}_se"] = clustered_mean(rows[name, key], articles).standard_error
    last = [line for line in read_metrics(folder / "metrics.jsonl") if "loss" in line][-1]
    arms[name]["training"] = {key: last[key] for key in ("step", "epoch", "loss")}

differences = {}
for other in [name for name in arms if name != "as-it-came"]:
    for key in ("exact", "f1"):
        gain = paired_difference(rows[other, key], rows["as-it-came", key], articles)
        differences[f"{other} - as-it-came, {key}"] = {"value": gain.value, "low": gain.low, "high": gain.high}
result = {
    "equal": json.loads((out / "equal.json").read_text()),
    "held_out": json.loads((out / "held_out.json").read_text()),
    "squad_dev": arms,
    "differences": differences,
}
text = json.dumps(result, indent=1) + "\n"
(out / "result.json").write_text(text)
print(text)
