"""LAMB: Adam's update, scaled for each matrix so that its length follows that of the matrix. For very large batches.

Source: You et al. 2020 (LAMB), algorithm 2, with its scaling function the identity; ALBERT trains with it. As in
ALBERT's code only what decays is scaled: matrices and tables, not biases and LayerNorm.
Differs: ALBERT's code leaves out the bias correction of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

ParamGroup = dict[str, Any]  # parameters of an optimizer with their rate, decay, ...


class Lamb(torch.optim.Optimizer):
    """`w -= lr * |w| / |u| * u` with `u = m / (sqrt(v) + eps) + weight_decay * w`, m and v Adam's corrected moments."""

    def __init__(
        self,
        params: Iterable[ParamGroup],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient. No number is read back from a device."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: ParamGroup) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        first = state["exp_avg"].lerp_(gradient, 1.0 - beta1)
        second = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        root = (second / _correction(beta2, state["step"])).sqrt_().add_(group["eps"])
        update = (first / _correction(beta1, state["step"])).div_(root)
        if group["weight_decay"]:
            update.add_(parameter, alpha=group["weight_decay"])
        if parameter.dim() >= 2:
            update.mul_(_trust(parameter, update))
        parameter.sub_(update, alpha=group["lr"])


def _correction(beta: float, step: Tensor) -> Tensor:
    """1 - beta^step without the cancellation that float32 has there."""
    return -torch.expm1(step * math.log(beta)) if beta else torch.ones_like(step)


def _trust(parameter: Tensor, update: Tensor) -> Tensor:
    """|w| / |u|; 1 where either is nothing."""
    weight_norm, update_norm = torch.linalg.vector_norm(parameter), torch.linalg.vector_norm(update)
    return torch.where((weight_norm > 0) & (update_norm > 0), weight_norm / update_norm, 1.0)
