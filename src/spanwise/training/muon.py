"""Muon for the matrices of linear layers, AdamW for everything else, seen by the loop as one optimizer.

Muon replaces the gradient of a matrix by the nearest orthogonal one, so that every direction learns at the same pace.
At small budgets that leaves the unigram plateau of masked language modelling many times sooner (docs/log.md).

Source: Jordan et al. 2024 (Muon); Liu et al. 2025 (rates matched to AdamW's, so that one rate serves both).
Differs: neither is in the papers this project follows; AdamW stays the default.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spanwise.training.lamb import ParamGroup


def linear_matrices(model: nn.Module) -> set[Tensor]:
    """The weights that Muon is for: those of linear layers. Tables of embeddings are looked up, not multiplied."""
    return {
        module.weight for module in model.modules() if isinstance(module, nn.Linear) and module.weight.requires_grad
    }


class MuonWithAdamW:
    """Two optimizers over disjoint parameters behind the interface of one: `param_groups`, `state`, `step`."""

    def __init__(self, muon: torch.optim.Muon, adamw: torch.optim.AdamW) -> None:
        self.parts = (muon, adamw)

    @property
    def state(self) -> dict[Tensor, dict[str, Tensor]]:
        """The state of every parameter, from whichever optimizer owns it; to be read, not written."""
        return {**self.parts[0].state, **self.parts[1].state}

    @property
    def param_groups(self) -> list[ParamGroup]:
        return [group for part in self.parts for group in part.param_groups]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for part in self.parts:
            part.zero_grad(set_to_none=set_to_none)

    def step(self) -> None:
        for part in self.parts:
            part.step()
