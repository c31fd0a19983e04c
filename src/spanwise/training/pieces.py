"""What a process keeps of a model between steps: all of it, or some rows of every large parameter (`fsdp.py`).

Optimizer, sums of gradients and checkpoints see pieces alone, and so are written once for both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


@dataclass(eq=False)
class Piece:
    """The rows of one parameter that this process updates and saves; here all of them.

    `tensor` is what the optimizer sees. Its `grad` becomes the gradient of the whole step.
    """

    name: str  # the parameter's, in the model
    tensor: Tensor  # [rows kept, ...]
    shape: torch.Size  # of the whole parameter
    first: int = 0  # the row of the parameter that comes first here
    is_cut: bool = False  # whether other processes keep other rows

    def take_gradient(self) -> Tensor | None:
        """Return the gradient of the whole parameter by the packs computed here, and forget it."""
        gradient, self.tensor.grad = self.tensor.grad, None
        return gradient

    def take_sum(self) -> Tensor | None:
        """Return the rows kept here of the gradient of the whole step, where backward has added them, and forget it."""
        return self.take_gradient()

    def added(self, whole: Tensor) -> Tensor:
        """Return the rows kept here of the sum over all processes that keep other rows."""
        return whole

    def joined(self, rows: Tensor) -> Tensor:
        """Return all rows of what each process has some rows of: [rows kept, ...] -> [rows, ...]."""
        return rows


def whole_pieces(model: nn.Module) -> list[Piece]:
    """The parameters of a model, each whole. Tied ones appear once."""
    return [Piece(name, parameter, parameter.shape) for name, parameter in model.named_parameters()]


class KeptModel:
    """A model of which this process keeps everything."""

    pieces: list[Piece]
    buffers: dict[str, Tensor]  # those that are saved; every process has them whole
    part, num_parts = 0, 1  # which part of the tensors of training this process saves, and of how many
    is_cut = False

    def __init__(self, model: nn.Module) -> None:
        self.pieces = whole_pieces(model)
        registered = model.state_dict(keep_vars=True)  # asked for now: FSDP2 answers by putting its rows into place
        self.buffers = {name: buffer for name, buffer in model.named_buffers() if name in registered}

    def rounds(self, packs: Sequence[T]) -> Sequence[T]:
        """The packs to compute one after the other; those behind the given ones only accompany other processes."""
        return packs

    def at_leader(self) -> contextlib.AbstractContextManager[None]:
        """A block in which the first process has the whole model, to evaluate and to save it. Entered by all."""
        return contextlib.nullcontext()

    def own_gradients(self) -> contextlib.AbstractContextManager[None]:
        """A block in which gradients stay those of the packs computed here. Entered by all."""
        return contextlib.nullcontext()

    def computing(self) -> contextlib.AbstractContextManager[None]:
        """A block of forward and backward. Raises: PeerLostError where another process is needed and has gone."""
        return contextlib.nullcontext()

    def gather(self, mine: T) -> list[T]:
        """Return what each process gives that saves a part, by its number."""
        return [mine]
