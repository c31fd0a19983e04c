"""Muon in stacks: all matrices of one shape are orthogonalised by one batched product."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from spanwise.runtime.device import has_bf16
from spanwise.training.pieces import Piece

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

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            by_shape: dict[tuple[torch.Size, torch.device], list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    piece = self.pieces.get(parameter)
                    shape = parameter.shape if piece is None else piece.shape
                    by_shape[shape, parameter.device].append(parameter)
            for (shape, _), parameters in by_shape.items():
                at_once = max(1, STACK_BYTES // (4 * shape.numel()))
                for first in range(0, len(parameters), at_once):
                    self._update(parameters[first : first + at_once], group)
        return loss

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Update matrices of one shape."""
        rate, momentum = group["lr"], group["momentum"]
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        moments = []
        for parameter in parameters:
            if "momentum_buffer" not in self.state[parameter]:
                self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
            moments.append(self.state[parameter]["momentum_buffer"])
        bad = gradients[0].new_zeros(()) if self.found_inf is None else self.found_inf
        good = 1 - bad
        # in place of a bad gradient stands the moment, which so stays as it is
        updates_KMN = torch.where(bad.bool(), torch.stack(moments), torch.stack(gradients))
        torch._foreach_lerp_(moments, list(updates_KMN.unbind()), 1 - momentum)
        torch._foreach_lerp_(list(updates_KMN.unbind()), moments, momentum)  # Nesterov's look ahead
        piece = self.pieces.get(parameters[0])  # matrices of one shape are cut alike
        if piece is not None and piece.is_cut:
            updates_KMN = piece.joined(updates_KMN.transpose(0, 1).contiguous()).transpose(0, 1).contiguous()
        directions_KMN = orthogonal(updates_KMN, group["ns_coefficients"], group["ns_steps"], group["eps"]).float()
        size = 0.2 * math.sqrt(max(updates_KMN.shape[1:]))  # as large as AdamW's updates, so that one rate serves both
        if piece is not None:
            directions_KMN = directions_KMN[:, piece.first : piece.first + len(piece.tensor)]
        torch._foreach_mul_(parameters, (1 - rate * group["weight_decay"]) * good + bad)
        torch._foreach_add_(parameters, list((directions_KMN * good).unbind()), alpha=-rate * size)


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
