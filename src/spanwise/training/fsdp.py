"""FSDP2: every process keeps some rows of each large parameter, and their moments; `training.sharding=fsdp2`.

torch's `fully_shard` gathers a layer's parameters before it computes and frees them afterwards; what stands outside of
layers (tables, heads) is whole from the beginning of a forward to the end of its backward. The optimizer updates the
rows kept here as plain tensors. Parameters of one dimension, and matrices that cannot be cut so that every row begins
at a multiple of 16 numbers, stay whole everywhere: they are few, and AdamW's kernel rounds the last numbers of a tensor
that are no sixteen in another way, so that cuts elsewhere would change bits.

Source: Zhao et al. 2023 (FSDP); Rajbhandari et al. 2020 (ZeRO), stage 3.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from spanwise.runtime.processes.distributed import Group
from spanwise.training.optim import Optimizer, set_pieces
from spanwise.training.pieces import KeptModel, Piece

T = TypeVar("T")
LANES = 16  # float32 numbers of the widest vector registers


@dataclass(eq=False, kw_only=True)
class RowsPiece(Piece):
    """The rows of a parameter that one process of several keeps, cut as `torch.chunk` cuts them."""

    sharded: nn.Parameter  # FSDP2's own: a DTensor over the memory of `tensor`
    gathered: nn.Parameter  # the whole parameter, whose memory is there while a forward or backward needs it
    group: Group

    def take_gradient(self) -> Tensor | None:
        """Return the gradient of the whole parameter, which FSDP2 has left alone (`own_gradients`), and forget it."""
        gradient, self.gathered.grad = self.gathered.grad, None
        return gradient

    def take_sum(self) -> Tensor | None:
        """Return the rows kept here of the gradient that FSDP2 has added over packs and processes, and forget it."""
        gradient, self.sharded.grad = self.sharded.grad, None
        return None if gradient is None else gradient.to_local()  # type: ignore[attr-defined]

    def added(self, whole: Tensor) -> Tensor:
        return self.group.add_rows(whole)[: len(self.tensor)]

    def joined(self, rows: Tensor) -> Tensor:
        return self.group.join_rows(rows, self.shape[0])


class ShardedModel(KeptModel):
    """A model that the processes of a group keep by rows.

    With `keeps_gradients` the gradients of a pack stay whole until `RowsPiece.take_gradient` takes them, as exact sums
    need; otherwise FSDP2 adds them layer by layer in backward, and no process holds more than its rows of the sum.
    """

    is_cut = True

    def __init__(self, model: nn.Module, optimizer: Optimizer, group: Group, *, keeps_gradients: bool) -> None:
        super().__init__(model)
        self.part, self.num_parts = group.world.rank, group.world.size
        self._group, self._keeps_gradients = group, keeps_gradients
        originals = {piece.name: piece.tensor for piece in self.pieces}
        self._modules = _cut(model, group.world.size)
        for module in self._modules:  # FSDP2 lays uneven rows out anew at the first time
            module.unshard()
        gathered = dict(model.named_parameters())
        for module in self._modules:
            module.reshard()
        self.pieces = [
            self._piece(name, kept, gathered[name], originals[name].shape) for name, kept in model.named_parameters()
        ]
        _follow_ties(model, {originals[name]: gathered[name] for name in originals})
        mine = {originals[piece.name]: piece.tensor for piece in self.pieces}
        for options in optimizer.param_groups:
            options["params"] = [mine[parameter] for parameter in options["params"]]
        set_pieces(optimizer, self.pieces)
        self._modules[-1].set_requires_gradient_sync(not keeps_gradients)

    @property
    def shares(self) -> str:
        """How many parameters this process keeps, of how many."""
        share = sum(piece.tensor.numel() for piece in self.pieces)
        return f"{share:,} of {sum(piece.shape.numel() for piece in self.pieces):,} parameters"

    def _piece(self, name: str, kept: nn.Parameter, gathered: nn.Parameter, shape: torch.Size) -> Piece:
        if kept is gathered:
            return Piece(name, kept, shape)
        local = kept.detach().to_local()  # type: ignore[attr-defined]
        first = self.part * -(-shape[0] // self.num_parts)
        own = nn.Parameter(local, requires_grad=kept.requires_grad)
        return RowsPiece(
            name, own, shape, min(first, shape[0]), True, sharded=kept, gathered=gathered, group=self._group
        )

    def rounds(self, packs: Sequence[T]) -> Sequence[T]:
        """As many packs for every process, since all must gather each layer at the same time: one with fewer packs
        computes its first again, or the leader's where it has none."""
        numbers = self._group.gather(len(packs))
        first = self._group.gather(packs[0] if self.part == 0 else None)[0] if min(numbers) == 0 else None
        filler = packs[0] if packs else first
        assert filler is not None or not max(numbers)
        return [*packs, *[filler] * (max(numbers) - len(packs))]  # type: ignore[list-item]

    @contextlib.contextmanager
    def at_leader(self) -> Iterator[None]:
        is_leader = self.part == 0
        with self.computing():
            for module in self._modules:
                module.unshard()
                if is_leader:
                    module.set_reshard_after_forward(False, recurse=False)
                else:
                    module.reshard()
        try:
            yield
        finally:
            if is_leader:
                for module in self._modules:
                    module.reshard()
                for module in self._modules[:-1]:
                    module.set_reshard_after_forward(True, recurse=False)

    @contextlib.contextmanager
    def own_gradients(self) -> Iterator[None]:
        root = self._modules[-1]
        root.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            root.set_requires_gradient_sync(not self._keeps_gradients)

    def computing(self) -> contextlib.AbstractContextManager[None]:
        return self._group.meeting(certain=False)

    def gather(self, mine: T) -> list[T]:
        return self._group.gather(mine)


def _cut(model: nn.Module, num_processes: int) -> list[FSDPModule]:
    """Let FSDP2 cut a model in place; returns what it gathers at a time: each layer, and at last all the rest."""
    device = next(model.parameters()).device.type
    mesh = init_device_mesh(device, (num_processes,))
    whole = {parameter for parameter in model.parameters() if not _can_be_cut(parameter, num_processes)}
    layers = list(_layers(model))
    for layer in layers:
        fully_shard(layer, mesh=mesh, ignored_params=whole)
    fully_shard(model, mesh=mesh, ignored_params=whole, reshard_after_forward=False)
    cut: list[FSDPModule] = [module for module in (*layers, model) if isinstance(module, FSDPModule)]
    for module in cut:  # a sum, as the loss of a step is one; Gloo knows no other reduction
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
    return cut


def _can_be_cut(parameter: nn.Parameter, num_processes: int) -> bool:
    return parameter.dim() >= 2 and len(parameter) >= num_processes and parameter.numel() // len(parameter) % LANES == 0


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The members of lists of modules, from outside, that share no parameter with anything else in the model."""
    owners: dict[nn.Parameter, int] = {}
    for part in module.modules():
        for parameter in part.parameters(recurse=False):
            owners[parameter] = owners.get(parameter, 0) + 1
    lists = [part for part in module.modules() if isinstance(part, nn.ModuleList)]
    users = [set(member.parameters()) for part in lists for member in part]
    taken: set[nn.Module] = set()
    for member in chain.from_iterable(lists):
        own = set(member.parameters())
        is_shared = any(owners[parameter] > 1 for parameter in own) or sum(bool(own & user) for user in users) > 1
        if own and not is_shared and not taken & set(member.modules()):
            taken |= set(member.modules())
            yield member


def _follow_ties(model: nn.Module, gathered: dict[Tensor, nn.Parameter]) -> None:
    """Give the whole parameters to modules that hold one of another module in a tuple, unregistered (`nn/heads`)."""
    for module in model.modules():
        for name, held in vars(module).items():
            if isinstance(held, tuple) and any(isinstance(one, nn.Parameter) and one in gathered for one in held):
                setattr(module, name, tuple(gathered.get(one, one) for one in held))
