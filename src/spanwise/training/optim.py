"""AdamW, Muon or LAMB with the right decay groups, and the clip that comes before the step."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.training.muon import StackedMuon
from spanwise.training.pieces import Piece
from spanwise.training.plan import TrainingOptions


def linear_matrices(model: nn.Module) -> set[Tensor]:
    """The weights that Muon is for: those of linear layers. Tables of embeddings are looked up, not multiplied."""
    return {
        module.weight for module in model.modules() if isinstance(module, nn.Linear) and module.weight.requires_grad
    }


class AdamW(torch.optim.AdamW):
    """torch's AdamW, whose step imports torch's compiler in order to be left out of its graphs; here none is made of it
    (`leave_compiler_out`)."""

    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))  # type: ignore[assignment]


class MuonWithAdamW:
    """Muon for the matrices of linear layers, AdamW for everything else, behind the interface of one optimizer.

    Muon replaces the gradient of a matrix by the nearest orthogonal one, so that every direction learns at the same
    pace. At small budgets that leaves the unigram plateau of masked language modelling many times sooner (docs/log.md).

    Source: Jordan et al. 2024 (Muon); Liu et al. 2025 (rates matched to AdamW's, so that one rate serves both).
    Differs: neither is in the papers this project follows; AdamW stays the default.
    """

    def __init__(self, muon: StackedMuon, adamw: AdamW) -> None:
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


ParamGroup = dict[str, Any]  # parameters of an optimizer with their rate, decay, ...


class Lamb(torch.optim.Optimizer):
    """Adam's update, scaled for each matrix so that its length follows that of the matrix. For very large batches.

    `w -= lr * |w| / |u| * u` with `u = m / (sqrt(v) + eps) + weight_decay * w`, m and v Adam's corrected moments.

    Source: You et al. 2020 (LAMB), algorithm 2, with its scaling function the identity; ALBERT trains with it. As in
    ALBERT's code only what decays is scaled: matrices and tables, not biases and LayerNorm.
    Differs: ALBERT's code leaves out the bias correction of the paper.
    """

    found_inf: Tensor | None = None  # see `guard`
    pieces: Mapping[Tensor, Piece] = {}

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
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient. No number is read back from a device."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: ParamGroup) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        beta1, beta2 = group["betas"]
        first, second = state["exp_avg"], state["exp_avg_sq"]
        bad = torch.zeros_like(state["step"]) if self.found_inf is None else self.found_inf
        is_bad = bad.bool()
        state["step"] += 1 - bad
        first.lerp_(torch.where(is_bad, first, gradient), 1.0 - beta1)
        second.copy_(torch.where(is_bad, second, (second * beta2).addcmul_(gradient, gradient, value=1.0 - beta2)))
        root = (second / _correction(beta2, state["step"])).sqrt_().add_(group["eps"])
        update = (first / _correction(beta1, state["step"])).div_(root)
        if group["weight_decay"]:
            update.add_(parameter, alpha=group["weight_decay"])
        if parameter.dim() >= 2:
            piece = self.pieces.get(parameter)
            whole = (parameter, update) if piece is None else (piece.joined(parameter), piece.joined(update))
            update.mul_(_trust(*whole))
        parameter.sub_(torch.where(is_bad, 0.0, update).mul_(group["lr"]))


def _correction(beta: float, step: Tensor) -> Tensor:
    """1 - beta^step without the cancellation that float32 has there."""
    return -torch.expm1(step * math.log(beta)) if beta else torch.ones_like(step)


def _trust(parameter: Tensor, update: Tensor) -> Tensor:
    """|w| / |u|; 1 where either is nothing."""
    weight_norm, update_norm = torch.linalg.vector_norm(parameter), torch.linalg.vector_norm(update)
    return torch.where((weight_norm > 0) & (update_norm > 0), weight_norm / update_norm, 1.0)


class Optimizer(Protocol):
    """The methods of an optimizer that the loop calls; those of torch have them, and pairs of them."""

    @property
    def param_groups(self) -> list[ParamGroup]: ...

    @property
    def state(self) -> Mapping[Tensor, Mapping[str, Tensor]]: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> object: ...


def _parts(optimizer: Optimizer) -> tuple[torch.optim.Optimizer, ...]:
    return optimizer.parts if isinstance(optimizer, MuonWithAdamW) else (cast(torch.optim.Optimizer, optimizer),)


def guard(optimizer: Optimizer, bad: Tensor) -> None:
    """Let later steps change nothing, neither parameters nor moments nor counters, as long as `bad` is 1.

    bad: float32 scalar on the device of the parameters, 0 or 1, which nobody needs to read on the host. It has the name
    that torch's own optimizers look for when gradients are scaled.
    """
    for part in _parts(optimizer):
        part.found_inf = bad  # type: ignore[attr-defined]


def let_record(optimizer: Optimizer) -> None:
    """Let steps be recorded as a CUDA graph, which torch's optimizers refuse unless told; rates may be tensors then."""
    for group in optimizer.param_groups:
        if "capturable" in group:
            group["capturable"] = True


def set_pieces(optimizer: Optimizer, pieces: Sequence[Piece]) -> None:
    """Tell an optimizer which rows of parameters it updates, where its update needs whole matrices."""
    for part in _parts(optimizer):
        part.pieces = {piece.tensor: piece for piece in pieces}  # type: ignore[attr-defined]


def set_state(optimizer: Optimizer, state: Mapping[Tensor, dict[str, Tensor]]) -> None:
    """Give every parameter that `state` names its moments, in the optimizer that owns it."""
    for part in _parts(optimizer):
        for parameter in (parameter for group in part.param_groups for parameter in group["params"]):
            if parameter in state:
                part.state[parameter] = state[parameter]


def decay_groups(model: nn.Module) -> tuple[list[str], list[str]]:
    """Names of parameters with and without weight decay. Tied weights appear once.

    Matrices and tables decay; biases and LayerNorm (everything with fewer than two dimensions) do not.
    """
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    decayed = [name for name, parameter in named if parameter.dim() >= 2]
    return decayed, [name for name, parameter in named if parameter.dim() < 2]


def build_optimizer(model: nn.Module, options: TrainingOptions) -> Optimizer:
    """The optimizer of the options over fp32 parameters, fused: the same arithmetic in every precision.

    Raises: ConfigError for a model without trainable parameters or with parameters that are not fp32.
    """
    leave_compiler_out()
    parameters = dict(model.named_parameters())
    decayed, plain = decay_groups(model)
    if not decayed and not plain:
        raise ConfigError("the model has no trainable parameter.")
    for name in (*decayed, *plain):
        if parameters[name].dtype != torch.float32:
            raise ConfigError(f"parameter {name} is {parameters[name].dtype}; training keeps parameters in float32.")
    adam: ParamGroup = {
        "lr": options.peak_rate,
        "betas": (options.adam_beta1, options.adam_beta2),
        "eps": options.adam_epsilon,
    }
    matrices = linear_matrices(model) if options.optimizer == "muon" else set()
    groups: list[ParamGroup] = [
        {"params": [parameters[n] for n in names], "weight_decay": decay, "rate_scale": scale}
        for decay, all_names in ((options.weight_decay, decayed), (0.0, plain))
        for scale, names in _by_rate(all_names, options)
    ]
    if options.optimizer == "lamb":
        return Lamb([group for group in groups if group["params"]], **adam)
    orthogonal = [{**group, "params": [p for p in group["params"] if p in matrices]} for group in groups]
    others = [{**group, "params": [p for p in group["params"] if p not in matrices]} for group in groups]
    adamw = AdamW(
        [group for group in others if group["params"]],
        **adam,
        fused=True,  # one kernel, which also leaves all as it is where the gradient is bad
    )
    if not matrices:
        return adamw
    muon = StackedMuon(
        [group for group in orthogonal if group["params"]],
        lr=options.peak_rate,
        weight_decay=options.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    return MuonWithAdamW(muon, adamw)


def leave_compiler_out() -> None:
    """Let torch's optimizers work without torch's compiler, whose import takes as long as torch's own (2 s).

    Some of their methods are closed to the compiler: their first call imports it and keeps what it makes of the method.
    No optimizer is compiled here, so the method itself is kept. Where torch goes another way, this has no effect.
    `AdamW` does the same for its step.
    """
    for method in vars(torch.optim.Optimizer).values():
        plain = getattr(method, "__wrapped__", None)
        if plain is not None and "torch._dynamo" not in sys.modules:
            vars(plain).setdefault("__dynamo_disable", plain)


def _by_rate(names: list[str], options: TrainingOptions) -> list[tuple[float, list[str]]]:
    """The names by what their learning rate is multiplied with; the encoder's are `encoder.*`.

    With `layer_decay` d the top layer of n learns at d times the rate, the lowest at d ** n, the embeddings at
    d ** (n + 1); the pooler and heads at the whole rate. A layer that all visits share counts as one.
    Source: Clark et al. 2020 (ELECTRA), appendix B. Differs: its code skips one power below the head.
    """
    head = 1.0 if options.head_learning_rate is None else options.head_learning_rate / options.peak_rate
    if options.layer_decay == 1.0 and options.head_learning_rate is None:
        return [(1.0, names)]
    found: dict[float, list[str]] = {1.0: [], head: []}
    for name in names:
        scale = head if not name.startswith("encoder.") else options.layer_decay ** _distance(name, names)
        found.setdefault(scale, []).append(name)
    return list(found.items())


def _distance(name: str, names: list[str]) -> int:
    """How many steps below the head a parameter of the encoder stands: 0 for the pooler, 1 for the top layer."""
    layers = [int(part.split(".")[2]) for part in names if part.startswith("encoder.layers.")]
    num_layers = max(layers, default=-1) + 1
    if name.startswith("encoder.layers."):
        return num_layers - int(name.split(".")[2])
    return num_layers + 1 if name.startswith("encoder.embeddings.") else 0


def gradient_norm(gradients: Iterable[Tensor]) -> Tensor:
    """The global 2-norm of all gradients, a scalar; not finite as soon as one element is not."""
    return torch.nn.utils.get_total_norm(list(gradients), norm_type=2.0)


def clip_gradients(gradients: Iterable[Tensor], norm: Tensor, max_norm: float) -> None:
    """Scale all gradients in place so that their global norm is at most `max_norm`; 0 leaves them alone."""
    if max_norm <= 0:
        return
    scale = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    torch._foreach_mul_(list(gradients), scale)
