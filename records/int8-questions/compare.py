"""Official EM and F1 of the answers in each precision, and paired differences to fp32 with 95 % intervals.

usage: compare.py DEV_FILE OUT_FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np

from spanwise.tasks.qa.reader import read_predictions, read_squad
from spanwise.tasks.qa.score import raw_scores, score
from spanwise.training.statistics import paired_difference

dev, out = Path(sys.argv[1]), Path(sys.argv[2])
data = read_squad(dev, purpose="score")
articles = np.unique([data.titles[question.paragraph] for question in data.questions], return_inverse=True)[1]
answers = {name: read_predictions(out / f"{name}.json") for name in ("fp32", "bf16", "int8")}
rows, result = {}, {}
for name, said in answers.items():
    official, raw = score(data, said), raw_scores(data, said)
    same = np.mean([said[question.id] == answers["fp32"][question.id] for question in data.questions])
    result[name] = {key: official[key] for key in ("total", "exact", "f1")} | {"same_answers": 100 * float(same)}
    for key, values in (("exact", raw.exact), ("f1", raw.f1)):
        rows[name, key] = 100 * np.array([values.get(question.id, 0.0) for question in data.questions])
        if name != "fp32":
            loss = paired_difference(rows[name, key], rows["fp32", key], articles)
            result[name][f"{key} - fp32"] = {"value": loss.value, "low": loss.low, "high": loss.high}
text = json.dumps(result, indent=1) + "\n"
(out / "result.json").write_text(text)
print(text)
