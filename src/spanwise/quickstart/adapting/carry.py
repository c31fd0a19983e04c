"""A task that was learned from the start is carried over to the start adapted, without any step.

What fine-tuning changed is added to what adaptation changed: adapted + (fine-tuned - start), weight by weight, and the
head stays as it was taught. Both changes are small and begin at the same weights, so their sum keeps most of either.

Source: Ilharco et al. 2023 (task arithmetic: differences of fine-tuned weights from one start can be added).
"""

from dataclasses import replace

import torch

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.token_types import with_token_types
from spanwise.tasks.checkpoint import LoadedTask
from spanwise.tasks.model import TaskModel


def carried_over(loaded: LoadedTask, start: Checkpoint, adapted: Checkpoint) -> LoadedTask:
    """Return a fine-tuned model with what adaptation changed in the start that both came from.

    Raises: CheckpointError where the three have other weights than each other.
    """
    new_types = loaded.task.new_token_types(start)  # they change as the rows that they began as
    start, adapted = (with_token_types(checkpoint, new_types) for checkpoint in (start, adapted))
    weights = dict(loaded.model.encoder.state_dict())
    with torch.no_grad():
        for name, learned in adapted.tensors.items():
            before = start.tensors.get(name)
            if before is None or name not in weights or before.shape != learned.shape:
                raise CheckpointError(
                    f"{adapted.folder} and {start.folder} differ in {name}, so what {loaded.folder} learned cannot be "
                    "carried over; fine-tune the adapted model instead: spanwise finetune qa --model."
                )
            change = learned - before
            weights[name] = weights[name].clone()
            weights[name][: len(change)] += change  # the word table of an encoder has filler rows
    encoder = type(loaded.model.encoder)(loaded.model.encoder.config)
    encoder.load_state_dict(weights)
    model = TaskModel(loaded.task, encoder.eval(), loaded.model.head)
    return replace(loaded, model=model.eval())
