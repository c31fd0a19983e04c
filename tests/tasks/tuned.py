"""Fine-tuned folders made without training: a base whose tensors are moved a little, and a head of the task."""

import torch

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.interop.token_types import with_token_types
from spanwise.tasks.checkpoint import open_tokenizer, save_task_model
from spanwise.tasks.heads import new_head, with_pooler
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.tagging.task import Tagging

TASKS = {
    "qa": QuestionAnswering(head="boundary", doc_stride=40, null_threshold=-1.5),
    "tagging": Tagging(labels=("O", "B-LOC", "I-LOC"), kind="entities", level="words"),
}


def tuned_folder(base, target, name, *, task=None, seed=0, changed=lambda name: not name.startswith("embeddings.")):
    """Write a model as fine-tuning of `base` leaves it: the tensors that `changed` names are other ones."""
    checkpoint = read_folder(base)
    task = task or TASKS.get(name) or task_recipe(name).task
    checkpoint = with_token_types(checkpoint, task.new_token_types(checkpoint))
    encoder = build_encoder(checkpoint, with_pooler(checkpoint.config, checkpoint, task), seed)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in encoder.named_parameters():
            if changed(key):
                parameter += 0.05 * torch.randn(parameter.shape, generator=draw)
    learned = [{"file": f"{name}.json", "what": name, "licence": "CC BY 4.0", "count": 3, "unit": "rows"}]
    save_task_model(
        target,
        TaskModel(task, encoder, new_head(checkpoint, task, encoder, seed)),
        open_tokenizer(checkpoint, None),
        other_heads={key: head for key, head in checkpoint.heads.items() if not checkpoint.is_labelled(key)},
        extra={
            "finetuned": {"task": name, "model": str(base), "train": f"{name}.json"},
            "dev_scores": {"f1": 12.5},
            "learned_from": learned,
        },
    )
    return target
