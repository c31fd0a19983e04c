"""What a task changed and what adaptation changed are added, weight by weight."""

from dataclasses import replace

import pytest
import torch

from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder
from spanwise.interop.token_types import TABLE
from spanwise.quickstart.adapting.carry import carried_over


def moved(checkpoint, by):
    return replace(checkpoint, tensors={name: tensor + by for name, tensor in checkpoint.tensors.items()})


def test_the_change_of_the_start_is_added_and_the_head_stays(toys):
    start, loaded = read_folder(toys.start), toys.loaded()
    before = {name: tensor.clone() for name, tensor in loaded.model.encoder.state_dict().items()}

    carried = carried_over(loaded, start, moved(start, 0.25))

    rows = start.config.vocab_size
    for name, tensor in carried.model.encoder.state_dict().items():
        changed = slice(0, rows) if tensor.shape[:1] == before[name].shape[:1] and "word" in name else slice(None)
        torch.testing.assert_close(tensor[changed], before[name][changed] + 0.25)
        torch.testing.assert_close(loaded.model.encoder.state_dict()[name], before[name])  # the given one is untouched
    assert carried.model.head is loaded.model.head


def test_token_types_that_the_task_added_change_as_those_that_they_began_as(toys):
    start, loaded = read_folder(toys.start), toys.loaded()
    before_KE = loaded.model.encoder.state_dict()[TABLE].clone()
    by_2E = torch.tensor([[0.25], [0.5]]).expand(2, before_KE.shape[1])
    adapted = replace(start, tensors={**start.tensors, TABLE: start.tensors[TABLE] + by_2E})

    carried = carried_over(loaded, start, adapted)

    added = loaded.task.new_token_types(start)
    assert len(before_KE) == 2 + len(added) and set(added) == {0, 1}
    torch.testing.assert_close(carried.model.encoder.state_dict()[TABLE], before_KE + by_2E[[0, 1, *added]])


def test_weights_of_another_shape_are_refused_by_name(toys):
    start = read_folder(toys.start)
    name = next(iter(start.tensors))
    other = replace(start, tensors={**start.tensors, name: start.tensors[name][:1]})
    with pytest.raises(CheckpointError, match=r"differ in .*finetune"):
        carried_over(toys.loaded(), start, other)
