"""Several processes of one run: who they are, and what they say to each other.

Processes are started by `spanwise pretrain --processes N`, or by `torchrun`; both name each process in the environment
(RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT). The first process, the leader, owns the run folder. Small
things are said through Gloo, on CPU; tensors are added there too, or by NCCL where they lie on GPUs.
"""

import contextlib
import importlib
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor

from spanwise.errors import ConfigError, PeerLostError
from spanwise.runtime.processes.heartbeat import Heartbeat
from spanwise.runtime.wording import said_first

T = TypeVar("T")
BUCKET_BYTES = 1 << 20  # smaller tensors are added together; larger ones one by one, where they lie
_OF_NETWORKS = ("gloo", "nccl", "disterror", "distbackend", "connection", "peer")  # words of errors, in lower case
WAIT = timedelta(minutes=30)  # for a peer that learns a vocabulary, evaluates or saves


@dataclass(frozen=True)
class World:
    """Which of how many processes this is."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among those of this machine

    @property
    def is_leader(self) -> bool:
        return self.rank == 0


def world_of_environment() -> World:
    """Return what the launcher says; one process alone where there is none. Raises: ConfigError."""
    size = _number("WORLD_SIZE", 1)
    if size <= 1:
        return World()
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ConfigError(
                f"WORLD_SIZE is {size} and {name} is not set; start the processes with torchrun or --processes, "
                "or unset WORLD_SIZE."
            )
    return World(rank=_number("RANK", 0), size=size, local_rank=_number("LOCAL_RANK", 0))


class Group:
    """The processes of a run. Every method is called by all of them, in the same order.

    Raises (every method): PeerLostError where another process has gone.
    """

    def __init__(self, world: World) -> None:
        self.world = world

    def check_device(self, device: torch.device) -> None:
        """Refuse a GPU that several processes would have to share, which NCCL can't. Raises: ConfigError."""
        if device.type != "cuda":
            return
        cards = self.gather((platform.node(), _card(device)))
        shared = next((card for card in cards if cards.count(card) > 1), None)
        if shared is None:
            return
        cure = "start one process per GPU, each with a LOCAL_RANK of its own as torchrun sets it, or use --device cpu"
        if device.index is not None:
            cure = f"use --device cuda, as --device {device} names the same one for all of them"
        raise ConfigError(
            f"{cards.count(shared)} processes would share one GPU of {shared[0]}, and each needs its own; {cure}."
        )

    def gather(self, value: T) -> list[T]:
        """Return what each process gave, by rank. Values are small: numbers, names."""
        import torch.distributed as dist

        values: list[Any] = [None] * self.world.size
        with self.meeting():
            dist.all_gather_object(values, value)
        return values

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, the same bits on each of them."""
        import torch.distributed as dist

        small = [tensor for tensor in tensors if tensor.numel() * tensor.element_size() < BUCKET_BYTES]
        with self.meeting():
            for tensor in tensors:
                if tensor.numel() * tensor.element_size() >= BUCKET_BYTES:
                    if tensor.is_contiguous():
                        dist.all_reduce(tensor)
                        continue
                    dense = tensor.contiguous()
                    dist.all_reduce(dense)
                    tensor.copy_(dense)
            if small:
                flat = torch.cat([tensor.reshape(-1) for tensor in small])
                dist.all_reduce(flat)
                for tensor, part in zip(small, flat.split([tensor.numel() for tensor in small]), strict=True):
                    tensor.copy_(part.view_as(tensor))

    def largest(self, tensor: Tensor) -> None:
        """Replace each number of a tensor by the largest that any process has in its place."""
        import torch.distributed as dist

        with self.meeting():
            dist.all_reduce(tensor, op=dist.ReduceOp.MAX)

    def add_rows(self, tensor: Tensor) -> Tensor:
        """Return this process's share of the rows of the sum of tensors [R, ...]: the r-th of N shares, of R / N rows
        rounded up; rows behind the R-th are zeros."""
        import torch.distributed as dist

        rows = -(-len(tensor) // self.world.size)
        padded = tensor.new_zeros(rows * self.world.size, *tensor.shape[1:])
        padded[: len(tensor)] = tensor
        mine = tensor.new_empty(rows, *tensor.shape[1:])
        with self.meeting():
            getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)(mine, padded)  # its name until 2.12
        return mine

    def join_rows(self, mine: Tensor, num_rows: int) -> Tensor:
        """Return all rows of a tensor [num_rows, ...] of which each process gives its share, as `add_rows` deals."""
        import torch.distributed as dist

        rows = -(-num_rows // self.world.size)
        padded = mine.new_zeros(rows, *mine.shape[1:])
        padded[: len(mine)] = mine
        joined = mine.new_empty(rows * self.world.size, *mine.shape[1:])
        with self.meeting():
            getattr(dist, "all_gather_single", dist.all_gather_into_tensor)(joined, padded)  # its name until 2.12
        return joined[:num_rows]

    @contextlib.contextmanager
    def meeting(self, *, certain: bool = True) -> Iterator[None]:
        """A block that waits for the other processes; what fails in it is their end. If that is not `certain`, only
        errors in the words of Gloo and NCCL are."""
        with _lost_peers(certain=certain):
            yield


@contextlib.contextmanager
def join_processes() -> Iterator[Group | None]:
    """Join the processes that the environment names, for the length of the block; None for a process alone.

    Blocks may nest. Raises: ConfigError, PeerLostError.
    """
    world = world_of_environment()
    if world.size == 1:
        yield None
        return
    import torch.distributed as dist

    if not dist.is_available():
        raise ConfigError("this torch was built without torch.distributed; run one process.")
    if dist.is_initialized():
        yield Group(world)
        return
    # Its functions take as a default the group of the moment of their import: loaded within the block (Transformers
    # does that), they'd keep the group's threads until Python shuts down, and one that is busy then aborts the process.
    importlib.import_module("torch.distributed.nn")
    if torch.cuda.is_available():  # "cuda" without a number means this one from here on
        torch.cuda.set_device(world.local_rank % torch.cuda.device_count())
    with _lost_peers():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=WAIT)
    try:
        group = Group(world)
        with Heartbeat(world.rank, world.size, group.gather):
            yield group
    finally:
        with contextlib.suppress(RuntimeError):
            dist.destroy_process_group()


@contextlib.contextmanager
def _lost_peers(*, certain: bool = True) -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError:  # of this process
        raise
    except RuntimeError as error:  # Gloo and NCCL tell of closed connections and time-outs in words of their own
        if not certain and not any(word in f"{type(error).__name__} {error}".lower() for word in _OF_NETWORKS):
            raise
        raise PeerLostError(
            "another process of this run has gone, so this one can't go on; its own message says why. "
            f"Go on from the newest checkpoint with --resume. (Noticed here by: {said_first(error)}.)"
        ) from error


def _card(device: torch.device) -> str:
    """Return what tells a GPU from the others of its machine. Its index alone does not where a launcher shows each
    process only its own GPU."""
    index = torch.cuda.current_device() if device.index is None else device.index
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    return str(getattr(torch.cuda.get_device_properties(index), "uuid", f"{index} of {visible}"))


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.isdigit():
        raise ConfigError(f"{name}={text!r} in the environment is no number; torchrun and --processes set it.")
    return int(text) if text else default
