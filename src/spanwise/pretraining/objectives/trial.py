"""An objective of a user's own, tried before any file is read or written.

Its values are looked at first, then it makes targets of a made-up pack and its head a loss of made-up hidden states, so
that what cannot work is refused at once and not when a vocabulary has been learned.
Letters: T tokens in the pack, D hidden size.
"""

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.interop.head_files import check_own_names
from spanwise.interop.heads import check_not_ours, check_storable
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.objectives.base import Corrupted, Objective
from spanwise.pretraining.packs import Hidden, Pack, Spans

LENGTH = 16  # tokens of a made-up sequence
MEMBERS = {
    "needs": "needs = frozenset({'spans'}), what it asks of the other parts (pretraining/needs.py)",
    "weight": "weight: float = 1.0, what its mean loss is multiplied with",
    "targets": "targets(pack, spans, hidden), a frozen dataclass of tensors with a `count`",
    "build": "build(encoder), its head: a torch.nn.Module",
}


def check_objective(place: str, name: str, objective: object) -> None:
    """Refuse what is no objective, or stands under another name than its own; `place` is its field in the recipe.

    Raises: ConfigError saying what came, what was expected and what to do.
    """
    cls = type(objective).__name__
    own = getattr(objective, "name", None)
    if not isinstance(own, str):
        raise ConfigError(f"{place}.{name} is {cls}, which has no name; give the class `name = {name!r}`.")
    if name != own:
        raise ConfigError(f"{place}.{name} holds {cls}, whose name is '{own}'; use that name.")
    for member, cure in MEMBERS.items():
        if not hasattr(objective, member):
            raise ConfigError(f"objective '{name}' is {cls}, which has no {member}; give the class {cure}.")
    weight, needs = (getattr(objective, member) for member in ("weight", "needs"))
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
        raise ConfigError(f"{place}.{name}.weight cannot be {weight!r}; expected a number of 0 or more.")
    if not isinstance(needs, frozenset | set) or not all(isinstance(word, str) for word in needs):
        raise ConfigError(f"objective '{name}' has needs {needs!r}; expected {MEMBERS['needs']}.")
    if hasattr(nn.ModuleDict(), name):
        raise ConfigError(
            f"an objective can't be called '{name}', which torch.nn.ModuleDict keeps for itself; rename it."
        )
    check_own_names([name])


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadeUp:
    """A pack that no store gave, and what is hidden in it."""

    pack: Pack
    spans: Spans
    hidden: Hidden


def try_objective(name: str, objective: Objective, config: EncoderConfig, made_up: MadeUp) -> None:
    """Make targets of a made-up pack and a loss from them.

    Raises: ConfigError naming the objective and what it did.
    """
    encoder = Encoder(dataclasses.replace(config, num_layers=1, intermediate_size=8, vocab_size=64))
    cls = type(objective).__name__
    try:
        targets = objective.targets(made_up.pack, made_up.spans, made_up.hidden)
        head = objective.build(encoder)
        if isinstance(head, nn.Module):
            check_storable(f"the head of objective '{name}'", head)
            check_not_ours(name, dict(head.named_parameters()), encoder)
        _check_types(name, cls, targets, head)
        ids_T = torch.from_numpy(made_up.pack.input_ids)
        states_TD = torch.zeros(len(ids_T), config.hidden_size, requires_grad=True)
        corrupted = Corrupted(input_ids=ids_T, original_ids=ids_T)
        seen = {"corrupted": corrupted} if getattr(head, "reads_corrupted", False) else {}
        loss = head(states_TD, targets, **seen)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(
            f"objective '{name}' ({cls}) failed on a made-up pack of 2 sequences of {LENGTH} tokens: "
            f"{type(error).__name__}: {error}."
        ) from error
    total = loss if isinstance(loss, Tensor) else getattr(loss, "sum", None)
    if not isinstance(total, Tensor) or total.ndim:
        came = f"a tensor of shape {list(total.shape)}" if isinstance(total, Tensor) else f"{type(loss).__name__}"
        raise ConfigError(
            f"the head of objective '{name}' returned {came}; expected a scalar: the loss summed over targets."
        )


def _check_types(name: str, cls: str, targets: object, head: object) -> None:
    if not dataclasses.is_dataclass(targets) or isinstance(targets, type):
        raise ConfigError(
            f"{cls}.targets of objective '{name}' returned {type(targets).__name__}; expected a frozen dataclass of "
            "tensors, which moves with the batch."
        )
    count = getattr(targets, "count", None)
    if isinstance(count, bool) or not isinstance(count, int):
        raise ConfigError(
            f"the targets of objective '{name}' have the count {count!r}; expected how many they are, an int."
        )
    if not isinstance(head, nn.Module):
        raise ConfigError(
            f"{cls}.build of objective '{name}' returned {type(head).__name__}; expected a torch.nn.Module."
        )


def made_up_pack(*, hides: bool, has_labels: bool = False, has_questions: bool = False) -> MadeUp:
    """A pack of two sequences: a first special token, words of one and two tokens, a last special token.

    With `has_questions` three of the tokens are questions, as a replacement leaves them that shortens.
    """
    place_T = np.tile(np.arange(LENGTH), 2)
    maskable_T = (place_T > 0) & (place_T < LENGTH - 1)
    ids_T = np.where(maskable_T, 5 + place_T, 1).astype(np.int64)
    asked = made_up_questions() if has_questions else None
    if asked is not None:
        ids_T[asked.start], maskable_T[asked.start] = 2, False
    pack = Pack(
        input_ids=ids_T,
        token_type_ids=np.zeros_like(ids_T),
        borders=np.array([0, LENGTH, 2 * LENGTH]),
        maskable=maskable_T,
        starts_word=maskable_T & (place_T % 3 != 2),
        block_ids=np.array([0, 1]),
        pair_labels=np.array([0, 1]) if has_labels else None,
        questions=asked,
    )
    sequence_M = np.array([0, 0, 1] if hides else [], dtype=np.int64)
    start_M = np.array([1, 6, LENGTH + 3] if hides else [], dtype=np.int64)
    end_M = start_M + np.array([1, 3, 2] if hides else [], dtype=np.int64)
    spans = Spans(sequence=sequence_M, start=start_M, end=end_M)
    span_N = np.repeat(np.arange(len(start_M)), end_M - start_M)
    place_N = np.array(
        [t for start, end in zip(start_M, end_M, strict=True) for t in range(start, end)], dtype=np.int64
    )
    hidden = Hidden(position=place_N, span=span_N, sequence=sequence_M[span_N], original_ids=ids_T[place_N])
    return MadeUp(pack=pack, spans=spans, hidden=hidden)


def made_up_questions() -> Spans:
    """Two questions of one answer in the first sequence and one in the second, beside what is hidden."""
    start_M = np.array([4, 11, LENGTH + 8])
    return Spans(
        sequence=np.array([0, 0, 1]),
        start=start_M,
        end=start_M + 1,
        group=np.array([0, 0, 1]),
        kept=np.array([[12, 14], [LENGTH + 10, LENGTH + 11]]),
    )
