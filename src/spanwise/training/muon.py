"""Muon in stacks: all matrices of one shape are orthogonalised by one batched product, and so are smaller ones of
several shapes on a GPU, where starting products costs more than computing them.

Letters: K matrices of a stack, M their short side, N the long one of the widest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from spanwise.runtime.device import has_bf16
from spanwise.training.pieces import Piece

SIZE = 0.2  # times the root of the long side: as large as AdamW's updates, so that one rate serves both
MOST_FILLED = 1 << 24  # numbers of matrices that are filled up to one stack
STACK_BYTES = 1 << 28  # of one stack in fp32, so that large encoders do not need a second copy of all their weights


class StackedMuon(torch.optim.Muon):
    """The update of `torch.optim.Muon` with the same state, options and checkpoints, one product per shape of matrix.

    The products of the iteration are bf16 where the hardware has them. Elsewhere they are fp32, because a processor
    that converts bf16 first needs twenty times as long. Of a matrix that processes keep by rows, all of them gather the
    update, a stack at a time, and orthogonalise it: what one process alone computes, bit for bit.

    Source: Jordan et al. 2024 (Muon).
    """

    found_inf: Tensor | None = None  # see `optim.guard`
    pieces: Mapping[Tensor, Piece] = {}

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._filled: dict[tuple[torch.Size, ...], FilledUp] = {}

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient."""
        for group in self.param_groups:
            for parameters in self._stacks([one for one in group["params"] if one.grad is not None]):
                self._update(parameters, group)

    def _stacks(self, parameters: list[Tensor]) -> Iterator[list[Tensor]]:
        """Give the matrices that are orthogonalised together: all of one shape, or, where starting a product costs more
        than it computes, all whose short sides are equal."""
        by_shape: dict[tuple[torch.Size, torch.device], list[Tensor]] = defaultdict(list)
        for parameter in parameters:
            piece = self.pieces.get(parameter)
            by_shape[parameter.shape if piece is None else piece.shape, parameter.device].append(parameter)
        by_height: dict[tuple[int, torch.device], list[Tensor]] = defaultdict(list)
        for (shape, device), alike in by_shape.items():
            by_height[min(shape), device] += alike
        for (_, device), alike in by_height.items():
            if device.type != "cpu" and not self.pieces and _is_worth_filling(alike):
                yield alike
                continue
            for shape in dict.fromkeys(self._shape(one) for one in alike):
                same = by_shape[shape, device]
                at_once = max(1, STACK_BYTES // (4 * shape.numel()))
                yield from (same[first : first + at_once] for first in range(0, len(same), at_once))

    def _shape(self, parameter: Tensor) -> torch.Size:
        piece = self.pieces.get(parameter)
        return parameter.shape if piece is None else piece.shape

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Update matrices that are orthogonalised together."""
        rate, momentum = group["lr"], group["momentum"]
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        moments = []
        for parameter in parameters:
            if "momentum_buffer" not in self.state[parameter]:
                self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
            moments.append(self.state[parameter]["momentum_buffer"])
        bad = gradients[0].new_zeros(()) if self.found_inf is None else self.found_inf
        good = 1 - bad
        layout = self._layout(parameters)
        # in place of a bad gradient stands the moment, which so stays as it is
        updates = torch.where(bad.bool(), layout.joined(moments), layout.joined(gradients))
        by_matrix = layout.parts(updates)
        torch._foreach_lerp_(moments, by_matrix, 1 - momentum)
        torch._foreach_lerp_(by_matrix, moments, momentum)  # Nesterov's look ahead
        updates_KMN = layout.stacked(updates)
        piece = self.pieces.get(parameters[0])  # matrices of one shape are cut alike
        if piece is not None and piece.is_cut:
            updates_KMN = piece.joined(updates_KMN.transpose(0, 1).contiguous()).transpose(0, 1).contiguous()
        directions_KMN = orthogonal(updates_KMN, group["ns_coefficients"], group["ns_steps"], group["eps"]).float()
        if piece is not None:
            directions_KMN = directions_KMN[:, piece.first : piece.first + len(piece.tensor)]
        torch._foreach_mul_(parameters, (1 - rate * group["weight_decay"]) * good + bad)
        directions = layout.parts(layout.unstacked(directions_KMN) * (good * (-rate * layout.size)))
        torch._foreach_add_(parameters, directions)

    def _layout(self, parameters: list[Tensor]) -> Layout:
        shapes = tuple(self._shape(parameter) for parameter in parameters)
        if len(set(shapes)) == 1:
            return OneShape(SIZE * math.sqrt(max(shapes[0])))
        kept = self._filled.get(shapes)
        if kept is None or kept.places.device != parameters[0].device:
            kept = self._filled[shapes] = FilledUp.of(shapes, parameters[0].device)
        return kept


class Layout(Protocol):
    """How matrices lie in one tensor (`joined`), and how they are stacked for one product [K, M, N]. `size` is by what
    the directions that come back from there are multiplied."""

    @property
    def size(self) -> float: ...

    def joined(self, matrices: Sequence[Tensor]) -> Tensor: ...
    def parts(self, joined: Tensor) -> list[Tensor]: ...
    def stacked(self, joined: Tensor) -> Tensor: ...
    def unstacked(self, directions_KMN: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class OneShape:
    """Matrices of one shape, which are a stack as they are."""

    size: float

    def joined(self, matrices: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(matrices))

    def parts(self, joined: Tensor) -> list[Tensor]:
        return list(joined.unbind())

    def stacked(self, joined: Tensor) -> Tensor:
        return joined

    def unstacked(self, directions_KMN: Tensor) -> Tensor:
        return directions_KMN


@dataclass(frozen=True)
class FilledUp:
    """Matrices with equal short sides, each lying flat and filled up with columns of zeros to the widest.

    Zeros add nothing to the product of a matrix with its own transpose, and stay zeros in the product with it, so the
    directions are those of the matrices alone, within rounding. `places` [K x M x N] says where each number of the
    stack lies in the joined tensor [n + 1], whose last one is the zero; `back` [n] where each lies in the stack.
    """

    shapes: tuple[torch.Size, ...]
    stack: tuple[int, int, int]
    places: Tensor
    back: Tensor
    sizes: Tensor  # [K, 1, 1], of each matrix
    size: float = 1.0

    @classmethod
    def of(cls, shapes: tuple[torch.Size, ...], device: torch.device) -> FilledUp:
        """Lay out matrices of these shapes."""
        K, M, N = len(shapes), min(shapes[0]), max(max(shape) for shape in shapes)
        total = sum(shape.numel() for shape in shapes)
        places_KMN = torch.full((K, M, N), total, dtype=torch.int32)
        first = 0
        for k, (rows, columns) in enumerate(shapes):
            own = torch.arange(first, first + rows * columns, dtype=torch.int32).view(rows, columns)
            places_KMN[k, :, : max(rows, columns)] = own.mT if rows > columns else own
            first += rows * columns
        places = places_KMN.flatten()
        used = (places < total).nonzero().flatten()
        back = torch.empty(total, dtype=torch.int32)
        back[places[used].long()] = used.int()
        sizes = torch.tensor([SIZE * math.sqrt(max(shape)) for shape in shapes]).view(K, 1, 1)
        return cls(shapes, (K, M, N), places.to(device), back.to(device), sizes.to(device))

    def joined(self, matrices: Sequence[Tensor]) -> Tensor:
        return torch.cat([*(matrix.flatten() for matrix in matrices), matrices[0].new_zeros(1)])

    def parts(self, joined: Tensor) -> list[Tensor]:
        parts = joined[: len(self.back)].split([shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def stacked(self, joined: Tensor) -> Tensor:
        return joined.index_select(0, self.places).view(self.stack)

    def unstacked(self, directions_KMN: Tensor) -> Tensor:
        return (directions_KMN * self.sizes).flatten().index_select(0, self.back)


def _is_worth_filling(matrices: list[Tensor]) -> bool:
    """Return whether matrices with equal short sides become one stack: there are several shapes, not so many numbers
    that products take longer than their start, and filling up at most doubles them."""
    if len({matrix.shape for matrix in matrices}) == 1 or torch.are_deterministic_algorithms_enabled():
        return False
    total = sum(matrix.numel() for matrix in matrices)
    widest = max(max(matrix.shape) for matrix in matrices)
    return total <= MOST_FILLED and widest * min(matrices[0].shape) * len(matrices) <= 2 * total


def orthogonal(
    matrices_KMN: Tensor, coefficients: tuple[float, float, float], num_steps: int, epsilon: float
) -> Tensor:
    """Return the nearest orthogonal matrix to each one, approximately: Newton-Schulz, `num_steps` times.

    Singular values end between about 0.5 and 1.5, which serves training as well as 1 does (Jordan et al. 2024).
    """
    a, b, c = coefficients
    is_tall = matrices_KMN.shape[-2] > matrices_KMN.shape[-1]
    x_KMN = matrices_KMN.mT if is_tall else matrices_KMN
    x_KMN = x_KMN.to(torch.bfloat16 if has_bf16(x_KMN.device) else torch.float32)
    x_KMN = x_KMN / torch.linalg.matrix_norm(x_KMN, keepdim=True).clamp(min=epsilon)  # no singular value above 1
    for _ in range(num_steps):
        gram_KMM = x_KMN @ x_KMN.mT
        weights_KMM = torch.baddbmm(gram_KMM, gram_KMM, gram_KMM, beta=b, alpha=c)
        x_KMN = torch.baddbmm(x_KMN, weights_KMM, x_KMN, beta=a)
    return x_KMN.mT if is_tall else x_KMN
