"""A file of questions in four parts; official EM and F1 of the parts that were answered in every precision, and paired
differences to fp32 with 95 % intervals over articles.

usage: compare.py cut|score DEV_FILE OUT_FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np

from spanwise.tasks.files.text import read_json
from spanwise.tasks.qa.reader import read_predictions, read_questions
from spanwise.tasks.qa.score import raw_scores, score
from spanwise.training.statistics import paired_difference

PRECISIONS, PARTS = ("fp32", "bf16", "int8"), 4


def cut(dev: Path, out: Path) -> None:
    articles = read_json(dev)["data"]
    size = -(-len(articles) // PARTS)
    for part in range(PARTS):
        record = {"version": "1.1", "data": articles[part * size : (part + 1) * size]}
        (out / f"part-{part}.json").write_text(json.dumps(record), encoding="utf-8")


def compare(out: Path) -> dict:
    done = [part for part in range(PARTS) if all((out / f"{name}-{part}.json").is_file() for name in PRECISIONS)]
    articles = [article for part in done for article in read_json(out / f"part-{part}.json")["data"]]
    (out / "answered.json").write_text(json.dumps({"version": "1.1", "data": articles}), encoding="utf-8")
    data = read_questions(out / "answered.json", purpose="score")
    titles = np.unique([data.titles[question.paragraph] for question in data.questions], return_inverse=True)[1]
    answers: dict[str, dict] = {name: {} for name in PRECISIONS}
    for name in PRECISIONS:
        for part in done:
            answers[name] |= read_predictions(out / f"{name}-{part}.json")
    rows, result = {}, {}
    for name, said in answers.items():
        official, raw = score(data, said), raw_scores(data, said)
        same = np.mean([said[question.id] == answers["fp32"][question.id] for question in data.questions])
        result[name] = {key: official[key] for key in ("total", "exact", "f1")} | {"same_answers": 100 * float(same)}
        for key, values in (("exact", raw.exact), ("f1", raw.f1)):
            rows[name, key] = 100 * np.array([values.get(question.id, 0.0) for question in data.questions])
            if name != "fp32":
                gain = paired_difference(rows[name, key], rows["fp32", key], titles)
                result[name][f"{key} - fp32"] = {"value": gain.value, "low": gain.low, "high": gain.high}
    return {"articles": int(titles.max()) + 1, **result}


dev, out = Path(sys.argv[2]), Path(sys.argv[3])
if sys.argv[1] == "cut":
    cut(dev, out)
else:
    text = json.dumps(compare(out), indent=1) + "\n"
    (out / "result.json").write_text(text)
    print(text)
