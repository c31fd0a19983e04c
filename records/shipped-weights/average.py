"""Write the mean of readers that were taught from one encoder, by other seeds or labels.

average.py TASK OUT DEV RUN RUN ...

OUT gets a folder `final`; what a task fits on dev data (threshold, temperature) is fitted on DEV anew.
Source: Wortsman et al. 2022 (model soups, section 3.1: the uniform one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from spanwise.interop.huggingface import read_folder
from spanwise.tasks.checkpoint import load_task_model, save_task_model
from spanwise.tasks.model import TaskModel

KEPT = ("finetuned", "learned_from")  # of the first one's record


def main() -> None:
    name, out, dev, runs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), [Path(r) / "final" for r in sys.argv[4:]]
    loaded = [load_task_model(run, name, device="cpu", precision="fp32") for run in runs]
    first = loaded[0]
    states = [one.model.state_dict() for one in loaded]
    with torch.no_grad():
        for key, tensor in first.model.state_dict().items():
            tensor.copy_(torch.stack([state[key] for state in states]).mean(0))
    data = first.task.read(dev, purpose="score")
    features = first.task.featurize(data, first.tokenizer, first.model.encoder.config, training=False)
    predictions = first.task.decode(data, features, first.model.outputs(features))
    task = first.task.tune(data, predictions)
    scores = task.score(data, predictions)
    folder = read_folder(runs[0])
    model = TaskModel(task, first.model.encoder, first.model.head)
    extra = {key: folder.record[key] for key in KEPT} | {"dev_scores": scores}
    extra["finetuned"] = {**extra["finetuned"], "train": files_of(runs)}
    save_task_model(out / "final", model, first.tokenizer, other_heads={}, model_type=folder.model_type, extra=extra)
    print(scores)


def files_of(runs: list[Path]) -> list[str]:
    """Return the training files of all readers, each once."""
    found = [read_folder(run).record["finetuned"]["train"] for run in runs]
    return list(dict.fromkeys(file for one in found for file in ([one] if isinstance(one, str) else one)))


if __name__ == "__main__":
    main()
