"""What fine-tuning changed of an encoder, as one file: whole tensors, pairs of factors, and the heads.

A tensor that is equal to the base's is not stored. A matrix may be stored as two factors, W = W_base + up @ down, of a
rank r: the truncated singular value decomposition of the difference, which no other matrix of that rank comes nearer to
(Eckart and Young 1936). Hu et al. 2021 (LoRA), section 4.1, train such factors; here they are made after training.
Letters: m rows and n columns of a matrix, r the rank.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import as_type
from spanwise.interop.tensor_files import read_safetensors, write_safetensors
from spanwise.interop.token_types import TABLE

Tensors = Mapping[str, Tensor]
WHOLE, UP, DOWN, HEAD = "whole", "up", "down", "head"  # with what the names of tensors begin in the file


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes of one task, under our names. `kept_share` is the part of the squared difference (0 to 1) that the
    factors hold, rounding included; None where nothing is stored as factors."""

    whole: dict[str, Tensor] = field(default_factory=dict)
    up: dict[str, Tensor] = field(default_factory=dict)  # [m, r]
    down: dict[str, Tensor] = field(default_factory=dict)  # [r, n]
    heads: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    kept_share: float | None = None

    def applied(self, base: Tensors, path: Path) -> dict[str, Tensor]:
        """Return the task's encoder in float32, from that of the base.

        Raises: CheckpointError that names the file (`path`) and the tensor that does not fit the base.
        """
        found = dict(base)
        for name, tensor in self.whole.items():
            if name in base and tensor.shape != base[name].shape and name != TABLE:  # a task may add token types
                raise _misfit(path, f"{WHOLE}.{name}", tensor, base[name])
            found[name] = tensor.float()
        for name in sorted(self.up.keys() | self.down.keys()):
            up_MR, down_RN = self.up.get(name), self.down.get(name)
            if up_MR is None or down_RN is None or name not in base:
                raise CheckpointError(f"{path}: {name!r} has no two factors and a matrix of the base to be added to.")
            if up_MR.ndim != 2 or down_RN.ndim != 2 or up_MR.shape[1] != down_RN.shape[0]:
                raise _misfit(path, f"{UP}.{name}", up_MR, down_RN)
            difference_MN = up_MR.float() @ down_RN.float()
            if difference_MN.shape != base[name].shape:
                raise _misfit(path, f"{UP}.{name} @ {DOWN}.{name}", difference_MN, base[name])
            found[name] = base[name] + difference_MN
        return found

    def write(self, path: Path) -> None:
        """Write the file."""
        parts = {WHOLE: self.whole, UP: self.up, DOWN: self.down}
        named = {f"{kind}.{name}": tensor for kind, part in parts.items() for name, tensor in part.items()}
        for head, tensors in self.heads.items():
            named |= {f"{HEAD}.{head}.{name}": tensor for name, tensor in tensors.items()}
        write_safetensors({name: tensor.contiguous() for name, tensor in named.items()}, path)


def fits_bf16(tensor: Tensor) -> bool:
    """Return whether bf16 holds every number of a float32 tensor."""
    return torch.equal(tensor, tensor.bfloat16().float())


def as_stored(tensors: Tensors) -> dict[str, Tensor]:
    """Return tensors that were read in float32 in bf16, where that holds all of their numbers."""
    return as_type(tensors, torch.bfloat16) if all(map(fits_bf16, tensors.values())) else dict(tensors)


def read_changes(path: Path) -> Changes:
    """Read the file. Raises: CheckpointError for one that is cut short, or a tensor of no kind or without numbers."""
    parts: dict[str, dict[str, Tensor]] = {WHOLE: {}, UP: {}, DOWN: {}}
    heads: dict[str, dict[str, Tensor]] = {}
    for full, tensor in read_safetensors(path).items():
        kind, _, name = full.partition(".")
        if kind not in (*parts, HEAD) or not torch.is_floating_point(tensor) or not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{path}: tensor {full!r} begins with none of {', '.join((*parts, HEAD))}, or holds no finite numbers; "
                "the file is damaged. Copy the folder again."
            )
        if kind == HEAD:
            head, _, own = name.partition(".")
            heads.setdefault(head, {})[own] = tensor.float()
        else:
            parts[kind][name] = tensor
    return Changes(whole=parts[WHOLE], up=parts[UP], down=parts[DOWN], heads=heads)


def changes_between(
    base: Tensors, tuned: Tensors, heads: Mapping[str, Tensors], rank: int | None, dtype: torch.dtype
) -> Changes:
    """Return what makes `tuned` of `base`, which is the base as stored, rounding included; numbers as `dtype`.

    rank: of the factors of each matrix that they make smaller; None: all tensors are stored whole.
    """
    whole, up, down = {}, {}, {}
    total = lost = 0.0
    for name, tensor in tuned.items():
        before, after = base.get(name), tensor.to(dtype)
        if before is not None and torch.equal(before, after.float()):
            continue
        if rank is None or before is None or before.shape != tensor.shape or not _is_smaller(tensor, rank):
            whole[name] = after
            continue
        difference_MN = tensor.float() - before
        up[name], down[name] = (factor.to(dtype) for factor in factors(difference_MN, rank))
        total += float(difference_MN.square().sum())
        lost += float((difference_MN - up[name].float() @ down[name].float()).square().sum())
    return Changes(
        whole=whole,
        up=up,
        down=down,
        heads={name: as_type(tensors, dtype) for name, tensors in heads.items()},
        kept_share=1.0 - lost / total if total else None,
    )


def factors(matrix_MN: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Return up [m, r] and down [r, n] whose product is the nearest matrix of rank r; each has half of the scale, so
    that both are rounded alike."""
    u_MK, s_K, v_KN = torch.linalg.svd(matrix_MN.float(), full_matrices=False)
    root_R = s_K[:rank].sqrt()
    return (u_MK[:, :rank] * root_R).contiguous(), (root_R.unsqueeze(1) * v_KN[:rank]).contiguous()


def _is_smaller(tensor: Tensor, rank: int) -> bool:
    return tensor.ndim == 2 and rank * sum(tensor.shape) < tensor.numel()


def _misfit(path: Path, name: str, tensor: Tensor, other: Tensor) -> CheckpointError:
    return CheckpointError(
        f"{path}: {name!r} has shape {list(tensor.shape)}, which does not go with {list(other.shape)} of the base; it "
        "belongs to another encoder. Copy the folder again."
    )
