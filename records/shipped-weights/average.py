"""Write the mean of readers that were taught from one encoder with other seeds: average.py OUT DEV RUN RUN ...

OUT gets a folder `final`, whose threshold and temperature are fitted on the questions of DEV anew.
Source: Wortsman et al. 2022 (model soups, section 3.1: the uniform one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from spanwise.interop.huggingface import read_folder
from spanwise.tasks.checkpoint import load_task_model, save_task_model
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.reader import read_questions

KEPT = ("finetuned", "learned_from")  # of the first one's record


def main() -> None:
    out, dev, runs = Path(sys.argv[1]), Path(sys.argv[2]), [Path(run) / "final" for run in sys.argv[3:]]
    loaded = [load_task_model(run, "qa", device="cpu", precision="fp32") for run in runs]
    first = loaded[0]
    states = [one.model.state_dict() for one in loaded]
    with torch.no_grad():
        for name, tensor in first.model.state_dict().items():
            tensor.copy_(torch.stack([state[name] for state in states]).mean(0))
    data = read_questions(dev)
    features = first.task.featurize(data, first.tokenizer, first.model.encoder.config, training=False)
    predictions = first.task.decode(data, features, first.model.outputs(features))
    task = first.task.tune(data, predictions)
    scores = task.score(data, predictions)
    folder = read_folder(runs[0])
    model = TaskModel(task, first.model.encoder, first.model.head)
    extra = {name: folder.record[name] for name in KEPT} | {"dev_scores": scores}
    save_task_model(out / "final", model, first.tokenizer, other_heads={}, model_type=folder.model_type, extra=extra)
    print({name: scores[name] for name in ("exact", "f1")})


if __name__ == "__main__":
    main()
