"""Losses of held-out text by document, so that a change has an error: on the same masks, before and after.

The error counts documents, not tokens, as tokens of one document are not independent; short documents are put together
until they have some hundred characters. Letters: G clusters, that is documents or short ones together; V vocabulary.

Source: the linearised estimator of a ratio; Cochran, Sampling Techniques, 3rd ed., sections 6.4 and 9A.
"""

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from spanwise.data.batch import Batch
from spanwise.data.packing import pack_boundaries
from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.interop.checkpoint import Checkpoint, build_encoder
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import validation_source
from spanwise.runtime.device import autocast, choose_device, resolve_precision
from spanwise.runtime.progress import Gauge
from spanwise.text.corpus import Document
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.statistics import Difference, standard_error, with_interval

CLUSTER_CHARACTERS = 600
Unit = Literal["token", "character"]  # what a loss is divided by: hidden tokens, or the characters they stand for


@dataclass(frozen=True, kw_only=True)
class Losses:
    """Loss sums of one model on one held-out text, by cluster. A plain record keeps them in checkpoints."""

    sums: Mapping[str, Sequence[float]]  # objective -> [G] nats
    targets: Mapping[str, Sequence[int]]  # objective -> [G]
    characters: Sequence[int]  # [G] of the hidden tokens
    weights: Mapping[str, float]  # of the objectives in the loss

    def parts(self, unit: Unit) -> dict[str, float]:
        """The mean loss of each objective."""
        return {name: sum(self.sums[name]) / total for name, total in self._totals(unit).items()}

    def mean(self, unit: Unit) -> float:
        """The weighted sum of the means."""
        return sum(self.weights[name] * mean for name, mean in self.parts(unit).items())

    def residuals(self, unit: Unit) -> np.ndarray:
        """How much each cluster moves the mean, [G]; they add up to 0."""
        found = np.zeros(len(self.characters))
        means = self.parts(unit)
        for name, total in self._totals(unit).items():
            counts = np.asarray(self._counts(name, unit), dtype=np.float64)
            found += self.weights[name] * (np.asarray(self.sums[name]) - means[name] * counts) / total
        return found

    def _counts(self, name: str, unit: Unit) -> Sequence[int]:
        return self.targets[name] if unit == "token" else self.characters

    def _totals(self, unit: Unit) -> dict[str, int]:
        totals = {name: sum(self._counts(name, unit)) for name in self.sums if sum(self.targets[name])}
        return {name: total for name, total in totals.items() if total}


def change(before: Losses, after: Losses, unit: Unit) -> Difference:
    """Return how much lower a loss became, paired over the same clusters."""
    residuals_G = before.residuals(unit) - after.residuals(unit)
    return with_interval(before.mean(unit) - after.mean(unit), standard_error(residuals_G), len(residuals_G))


def clusters_of(documents: Sequence[Document]) -> list[int]:
    """How many documents each cluster has: neighbours are put together until they have `CLUSTER_CHARACTERS`."""
    counts: list[int] = []
    size = CLUSTER_CHARACTERS
    for document in documents:
        if size >= CLUSTER_CHARACTERS:
            counts.append(0)
            size = 0
        counts[-1] += 1
        size += document.num_characters
    if len(counts) > 1 and size < CLUSTER_CHARACTERS:
        counts[-2:] = [counts[-2] + counts[-1]]
    return counts


class HeldOutText:
    """The packs of a held-out store, each of one cluster, under masks that never change.

    `counted` are the counts by which a masking knows stop words: a store of some thousand tokens has none of its own.
    """

    def __init__(
        self,
        recipe: PretrainingRecipe,
        store: TokenStore,
        clusters: Sequence[int],
        *,
        counted: Vocabulary | None = None,
    ) -> None:
        source = validation_source(recipe, store, counted=counted)
        collator, table = source.collator, source.table
        first_tokens = store.sentence_offsets[store.document_borders]
        document_n = np.searchsorted(first_tokens, table.starts, side="right") - 1
        cluster_d = np.repeat(np.arange(len(clusters)), clusters)
        cluster_n = cluster_d[document_n]
        lengths = _piece_lengths(store.tokenizer())
        self.weights = {name: objective.weight for name, objective in recipe.trained_objectives.items()}
        self.targets: dict[str, list[int]] = {name: [] for name in self.weights}  # [G] of each objective
        self.packs: list[list[Batch]] = []
        self.characters: list[int] = []
        for cluster in range(len(clusters)):
            rows = np.flatnonzero(cluster_n == cluster)
            borders = pack_boundaries(
                table.packed_lengths[rows], collator.parts.tokens_of_pack, collator.parts.max_sequences
            )
            masked = [collator.masked(table, rows[first:last], 0) for first, last in itertools.pairwise(borders)]
            self.packs.append([collator.batch(one) for one in masked])
            for name, counts in self.targets.items():
                counts.append(sum(int(batch.counts.get(name, 0)) for batch in self.packs[-1]))
            self.characters.append(int(sum(lengths[one.hidden.original_ids].sum() for one in masked)))

    @property
    def num_tokens(self) -> int:
        """How many tokens are read to measure a model once, filler included."""
        return sum(len(batch.input_ids) for packs in self.packs for batch in packs)

    def losses(self, model: nn.Module, device: str | None, precision: Literal["auto", "fp32", "bf16"]) -> Losses:
        """Measure a model; nothing is drawn and nothing is learned."""
        where = choose_device(device)
        computed = resolve_precision(precision, where)
        sums: dict[str, list[float]] = {name: [] for name in self.weights}
        with Gauge("measuring", "tokens") as gauge:
            gauge.expect(self.num_tokens)
            for cluster, packs in enumerate(self.packs):
                found = evaluate_batches(model, packs, device=where, precision=computed)
                for name, counts in self.targets.items():
                    sums[name].append(found.get(f"{name}_loss", 0.0) * counts[cluster])
                gauge.add(sum(len(batch.input_ids) for batch in packs))
        return Losses(sums=sums, targets=self.targets, characters=self.characters, weights=self.weights)


def _piece_lengths(tokenizer: Tokenizer) -> np.ndarray:
    """The characters of each piece of a WordPiece vocabulary, [V]; the mark of a continuation is none."""
    pieces = tokenizer.tokens(range(tokenizer.vocab_size))
    return np.array([len(piece.removeprefix("##")) for piece in pieces], dtype=np.int64)


def forward_seconds(checkpoint: Checkpoint, device: str | None = None) -> float:
    """Try how long this machine takes for a token of the start, forward, in seconds."""
    where = choose_device(device)
    encoder = build_encoder(checkpoint).to(where).eval()
    length = min(256, checkpoint.config.max_positions)
    sequences = Sequences.from_lengths([length] * 4).to(where)
    ids_T = torch.arange(4 * length, device=where) % checkpoint.config.vocab_size
    seconds = math.inf
    with torch.no_grad(), autocast(resolve_precision("auto", where), where):
        for _ in range(2):  # the first call compiles
            began = time.perf_counter()
            float(encoder(ids_T, torch.zeros_like(ids_T), sequences).float().sum())
            seconds = time.perf_counter() - began
    return seconds / len(ids_T)
