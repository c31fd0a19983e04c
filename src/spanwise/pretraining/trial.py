"""A masking and a corruption of a user's own, tried on a made-up pack before any file is read or written.

Letters: T tokens in the pack, S sequences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.config.parts import field_names, is_ours
from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.corruption.base import DRAWS, Draws
from spanwise.pretraining.masking.adapter import FunctionMasking, NoPairsError
from spanwise.pretraining.masking.base import MEMBERS, MaskingScheme, left_by
from spanwise.pretraining.masking.checked import selected
from spanwise.pretraining.needs import hides_tokens
from spanwise.pretraining.objectives.base import Capacities, Corrupted, filled_up, sizes_of
from spanwise.pretraining.objectives.trial import MadeUp, made_up_pack
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.runtime.outline import outline


def maskings_in(masking: MaskingScheme) -> Iterator[MaskingScheme]:
    """Give a masking and those that it is made of, theirs too; what a user's own is made of is its own business."""
    yield masking
    values = [getattr(masking, name) for name in field_names(type(masking))] if is_ours(masking) else []
    for value in values:
        for inner in value.values() if isinstance(value, Mapping) else (value,):
            if all(hasattr(inner, member) for member in MEMBERS):
                yield from maskings_in(inner)


def made_up_pack_of(recipe: PretrainingRecipe) -> MadeUp:
    """Return a made-up pack with what the objectives of a recipe are given: hidden tokens, pair labels, questions."""
    left = left_by(recipe.replacement)
    return made_up_pack(
        hides=hides_tokens(recipe.masking) and "spans" in left,
        has_labels="pair_label" in recipe.format.gives,
        has_questions="questions" in left,
    )


def try_masking(masking: MaskingScheme) -> None:
    """Let a masking choose spans in a made-up pack; one that is made for a vocabulary is tried when that is known.

    A plain function is refused only for what it returns, if that is no pairs of integers: it may look up the real
    sequences by their `block_id`, and fail on made-up ones.

    Raises: ConfigError naming the masking and what it did.
    """
    if hasattr(masking, "for_vocabulary"):
        return
    pack = made_up_pack(hides=False).pack
    sides = {name: np.zeros(len(pack.input_ids), dtype=np.uint8) for name in getattr(masking, "side_arrays", ())}
    keys_S = np.array([3, 1 << 63], dtype=np.uint64)
    try:
        selected(masking, dataclasses.replace(pack, side=sides), keys_S, capacity=None)
    except Exception as error:
        if isinstance(masking, FunctionMasking) and not isinstance(error, NoPairsError):
            return
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            f"masking {type(masking).__name__} failed on a made-up pack of 2 sequences of 16 tokens: "
            f"{type(error).__name__}: {error}."
        ) from error


def try_corruption(recipe: PretrainingRecipe) -> None:
    """Build the corruption of a recipe, and let it change a made-up batch where the recipe hides tokens.

    Raises: ConfigError naming the corruption and what it did.
    """
    corruption, name = recipe.corruption, f"corruption {type(recipe.corruption).__name__}"
    with outline():
        encoder = Encoder(recipe.encoder.for_vocabulary(recipe.tokenizer.vocab_size))
        module: object = corruption.build(encoder)
    if not isinstance(module, nn.Module):
        raise ConfigError(f"{name}: build returned {type(module).__name__}; expected a torch.nn.Module.")
    if set(module.parameters()) - set(encoder.parameters()):
        raise ConfigError(
            f"{name} learns weights of its own, which model folders don't hold; use Generator(), or a module without "
            "parameters beside those of the encoder."
        )
    if not hides_tokens(recipe.masking) or "spans" not in left_by(recipe.replacement):
        return
    small = dataclasses.replace(recipe.encoder, num_layers=1, intermediate_size=8, vocab_size=64)
    made: nn.Module = corruption.build(Encoder(small))
    plain, filled = (_corrupted(name, made, _made_up_batch(recipe, num_dead)) for num_dead in (0, 1))
    for kind in ("input_ids", "original_ids"):
        one, other = getattr(plain, kind), getattr(filled, kind)
        if one is not None and one[0] != other[0]:
            raise ConfigError(
                f"{name} wrote a dead hidden token, which only fills up a pack, to the first place of {kind}; write by "
                "`batch.targets['mlm'].written(ids, batch.input_ids)`, which writes those nowhere."
            )


def _made_up_batch(recipe: PretrainingRecipe, num_dead: int) -> Batch:
    """A batch of the made-up pack, with some dead hidden tokens, as in packs of one shape."""
    made_up = made_up_pack_of(recipe)
    pack, hidden = made_up.pack, made_up.hidden
    targets = {key: one.targets(pack, made_up.spans, hidden) for key, one in recipe.trained_objectives.items()}
    counts = {key: target.count for key, target in targets.items()}
    if recipe.corruption.samples:
        targets[DRAWS] = Draws(uniform=torch.full((len(hidden.position),), 0.5, dtype=torch.float64))
    if num_dead:
        sizes = {"tokens": len(pack.input_ids), "sequences": len(pack.block_ids), "targets": 0}
        for one in targets.values():
            sizes |= {name: max(size, sizes.get(name, 1)) for name, size in sizes_of(one).items()}
        sizes["targets"] += num_dead
        shape = Capacities(**sizes, most_tokens=sizes["tokens"], longest=len(pack.input_ids))
        targets = {key: filled_up(target, shape) for key, target in targets.items()}
    return Batch(
        input_ids=torch.from_numpy(pack.input_ids),
        token_type_ids=torch.from_numpy(pack.token_type_ids),
        sequences=Sequences.from_lengths(np.diff(pack.borders)),
        targets=targets,
        counts=counts,
        ids=(0, 1),
    )


def _corrupted(name: str, module: nn.Module, batch: Batch) -> Corrupted:
    """Let a corruption change a batch. Raises: ConfigError where it fails, or returns what no encoder reads."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # whatever it draws itself is the same in both batches
            found: object = module(batch)
    except Exception as error:
        raise ConfigError(
            f"{name} failed on a made-up batch of 2 sequences of 16 tokens: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(found, Corrupted):
        raise ConfigError(
            f"the module of {name} returned {type(found).__name__}; expected pretraining.objectives.base.Corrupted."
        )
    for kind in ("input_ids", "original_ids"):
        ids: object = getattr(found, kind)
        if ids is None and kind == "original_ids":
            continue
        if not isinstance(ids, Tensor) or ids.shape != batch.input_ids.shape or ids.dtype != torch.int64:
            came = f"{ids.dtype} {list(ids.shape)}" if isinstance(ids, Tensor) else type(ids).__name__
            raise ConfigError(f"{name} gave {kind} of {came}; expected int64 {list(batch.input_ids.shape)}.")
    return found
