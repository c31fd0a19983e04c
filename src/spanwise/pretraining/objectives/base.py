"""The interface of objectives: what they ask of a pack, targets made on the host, and a head that gives a loss sum.

Letters: T tokens in the pack, D hidden size.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.config import Part
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.vocabulary_loss import DEAD
from spanwise.pretraining.packs import Hidden, Pack, Spans


@dataclass(frozen=True, kw_only=True)
class Corrupted:
    """A pack as the encoder reads it; a part of `corruption/` made it from a batch."""

    input_ids: Tensor  # [T] int64
    original_ids: Tensor | None = None  # [T] int64, the text, where the corruption puts tokens of its own
    losses: Mapping[str, object] = field(default_factory=dict)  # loss sums of its own objectives


class Targets(Protocol):
    """A frozen dataclass of tensors; it moves with the batch."""

    @property
    def count(self) -> int:
        """Number of targets, known before any forward; 0 is legal."""
        ...

    # Targets that can be given a fixed number have `capacity`, the field of `Capacities` that holds it; `filled_up`
    # then puts dead ones behind them, whose values are 0 but for those of the field `label`, which are DEAD. Where more
    # than their number varies, `sizes()` says what they need of each field, and `in_shape(capacities)` gives the shape.
    #
    # Where a head reads few tokens, `rows` says which: an int64 tensor of places in the pack, repeats allowed. The last
    # layer then computes no others. Targets without it are read everywhere.


@dataclass(frozen=True, kw_only=True)
class Capacities:
    """The shape of all packs of a run."""

    tokens: int
    most_tokens: int  # before a replacement shortens anything
    sequences: int  # of filler too
    targets: int  # hidden tokens
    longest: int  # tokens of a sequence
    pointers: int = 1
    pointing: int = 1  # sequences that have a pointer
    pointers_of_one: int = 1  # of one sequence


def sizes_of(targets: Targets) -> dict[str, int]:
    """Return what targets need of each field of `Capacities`."""
    given: Any = targets
    if hasattr(given, "sizes"):
        return dict(given.sizes())
    name = getattr(given, "capacity", None)
    return {} if name is None else {name: targets.count}


def filled_up(targets: Targets, capacities: Capacities) -> Targets:
    """Return targets with dead ones behind them, as many as the shape asks for; targets that know of no capacity come
    back as they are. Dead ones have no loss and no gradient, and are never right. Raises: ConfigError for too many.
    """
    given: Any = targets
    if hasattr(given, "in_shape"):
        shaped: Targets = given.in_shape(capacities)
        return shaped
    kind: Any = type(targets)
    name = getattr(kind, "capacity", None)
    if name is None:
        return targets
    missing = getattr(capacities, name) - targets.count
    if missing < 0:
        raise ConfigError(
            f"{kind.__name__}: a pack has {targets.count} targets, and {targets.count + missing} fit its shape; set "
            "batch.fixed=false, or raise batch.max_targets."
        )
    changes = {
        one.name: F.pad(getattr(targets, one.name), (0, missing), value=DEAD if one.name == kind.label else 0)
        for one in fields(kind)
    }
    filled: Targets = replace(targets, **changes)  # type: ignore[type-var]
    return filled


@dataclass(frozen=True, kw_only=True)
class PlaceTargets:
    """Base of targets that are tokens of the pack, each read at its own place."""

    positions: Tensor  # [N] int64, in the pack

    @property
    def count(self) -> int:
        return self.positions.shape[0]

    @property
    def rows(self) -> Tensor:
        """The tokens that the head reads."""
        return self.positions


class Objective(Part, Protocol):
    """A recipe part. The head that `build` makes is called as `head(hidden [T, D], targets)` and returns the sum."""

    name: ClassVar[str]  # its key in a recipe, a batch and a log
    needs: ClassVar[frozenset[str]]  # words of pretraining/needs.py, such as "spans", "pair_label", "causal"

    @property
    def weight(self) -> float: ...

    def targets(self, pack: Pack, spans: Spans, hidden: Hidden) -> Targets: ...

    def build(self, encoder: Encoder) -> nn.Module: ...

    # A head with `reads_corrupted = True` is called as `head(hidden, targets, corrupted=corrupted)`.
    # Where targets are not the hidden tokens, an objective also says how many a token of a sequence has, for the cost:
    # def targets_per_token(self, length: float) -> float
    # and where a head reads more tokens than its targets, the weights of it that a token meets:
    # def weights_per_token(self, head: nn.Module, length: float) -> float


LARGEST_SHARE = 0.75  # of a pack, that is worth leaving the others out


def rows_read(targets: Iterable[object], input_ids: Tensor) -> Tensor | None:
    """Return the places [R] that all heads together read, each once and in order.

    None where they are most of the pack, where one of `targets` doesn't say, and on a GPU, which would be waited for.
    """
    declared = [getattr(one, "rows", None) for one in targets]
    if input_ids.device.type != "cpu" or not declared or any(rows is None for rows in declared):
        return None
    is_read_T = torch.zeros(len(input_ids), dtype=torch.bool)
    for rows in declared:
        is_read_T[rows] = True
    rows_R = is_read_T.nonzero().squeeze(1)
    return rows_R if 0 < len(rows_R) <= LARGEST_SHARE * len(input_ids) else None
