"""Masked tokens: the heads of pre-training on held-out text, by distance from the visible tokens.

All models of a study are asked for the same hidden tokens, whatever they were trained with: whole spans (SpanBERT's
masking) in single segments, and single pieces (BERT's). Every hidden token is shown as [MASK]. Unigram and bigram are
counted in the training text. A token's distance is 1 beside the border of its span, then 2, 3, ...; 5 stands for all
that lie deeper.

Source: Joshi et al. 2020, section 3.1 (spans); Devlin et al. 2019, section 3.1 (pieces).
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Count
from spanwise.data.token_store import TokenStore
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.baselines import DEEPEST, HiddenTokens, NeighbourBaseline
from spanwise.pretraining.collate import Masked, PackParts
from spanwise.pretraining.comparison import baseline_scores
from spanwise.pretraining.corruption.base import Symbols
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, SubwordTokens
from spanwise.pretraining.masking.replacement import ALL_MASKED
from spanwise.pretraining.measure import TokenScores, facts_of, score_hidden
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.source import PretrainingSource
from spanwise.pretraining.system import continue_model, shaped_like
from spanwise.runtime.device import choose_device
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile

SEED = 1_000_003  # of the masks: constant, and never that of a training run
PACK_TOKENS = 4_096
HEADS = {"mlm": "MLM", "sbo": "SBO"}
MASKINGS = {"span": "spans", "piece": "pieces"}


@part("masked_tokens_probe")
class MaskedTokens:
    """Loss and hits on hidden tokens of the held-out store, by head and by distance."""

    max_tokens: Count = 160_000  # of held-out text, 15 % of them hidden
    ratio: Annotated[float, Field(gt=0, lt=1)] = 0.15

    name: ClassVar[str] = "masked-tokens"
    what: ClassVar[str] = "MLM and SBO on held-out text, by distance from the span's border"
    needs_valid: ClassVar[bool] = True
    files: ClassVar[Mapping[str, ProbeFile]] = {}

    @property
    def figures(self) -> tuple[Figure, ...]:
        found = []
        for kind, words in MASKINGS.items():
            for head, shown in HEADS.items():
                if (kind, head) == ("piece", "sbo"):
                    continue  # a span of one piece asks SBO for what MLM's neighbours say already
                title = f"{shown}, {words}"
                found += _two(f"{kind}_{head}", title, main=True)
                if kind == "span":
                    for depth in range(1, DEEPEST + 1):
                        place = f"distance {depth}{' and more' if depth == DEEPEST else ''}"
                        found += _two(f"{kind}_{head}", f"{title}, {place}", main=False, end=f"_at_{depth}")
        return tuple(found)

    def measure(self, context: Context) -> Figures:
        checkpoint = read_folder(context.model)
        wanted = context.recipe.objectives
        own = {name: wanted[name] for name in HEADS if name in wanted and name in checkpoint.heads}
        if not own:
            return {}
        shaped = shaped_like(context.recipe, checkpoint.config)
        model, _ = continue_model(replace(shaped, objectives=own, corruption=Symbols()), checkpoint)
        model.to(choose_device(context.device))
        figures: Figures = {}
        for kind, packs in self._packs(context.material).items():
            facts = facts_of(packs)
            for head, scores in score_hidden(model, packs).items():
                figures |= _figures(f"{kind}_{head}", scores, facts)
        return self._known(figures)

    def baselines(self, material: Material) -> dict[str, Figures]:
        counts = NeighbourBaseline.from_store(material.store)
        columns: dict[str, Figures] = {}
        for kind, packs in self._packs(material).items():
            facts = facts_of(packs)
            for column, scores in baseline_scores(counts, facts).items():
                for head in HEADS:
                    columns.setdefault(column, {}).update(_figures(f"{kind}_{head}", scores, facts))
        return {column: self._known(figures) for column, figures in columns.items()}

    def _packs(self, material: Material) -> dict[str, list[Masked]]:
        """Return the packs of both maskings, the same at every call."""
        maskings: dict[str, GeometricSpans | SubwordTokens] = {
            "span": GeometricSpans(ratio=self.ratio),
            "piece": SubwordTokens(ratio=self.ratio),
        }
        assert material.valid is not None  # a study without held-out text is refused for this probe
        return {kind: self._masked(material.valid, one, material.max_length) for kind, one in maskings.items()}

    def _masked(self, valid: TokenStore, masking: GeometricSpans | SubwordTokens, max_length: int) -> list[Masked]:
        parts = PackParts(
            format=SingleSegment(max_length=max_length),
            masking=masking,
            replacement=ALL_MASKED,
            objectives={"mlm": MaskedLM()},
            max_tokens=max(PACK_TOKENS, max_length),
            num_maskings=1,
        )
        source = PretrainingSource(valid, parts, seed=SEED, order="stored")
        packs: list[Masked] = []
        num_tokens = 0
        for masked in itertools.chain.from_iterable(map(source.masked_step, range(source.num_packs(0)))):
            packs.append(masked)
            num_tokens += len(masked.input_ids)
            if num_tokens >= self.max_tokens:
                break
        return packs

    def _known(self, figures: Figures) -> Figures:
        keys = {figure.key for figure in self.figures}
        return {key: value for key, value in figures.items() if key in keys}


def _two(key: str, title: str, *, main: bool, end: str = "") -> list[Figure]:
    return [
        Figure(key=f"{key}_loss{end}", label=f"{title}: loss", unit="nats", better="lower", main=main),
        Figure(key=f"{key}_right{end}", label=f"{title}: right", unit="%", better="higher", main=main),
    ]


def _figures(key: str, scores: TokenScores, facts: HiddenTokens) -> Figures:
    """Return means over the hidden tokens that the head predicts, all and by distance."""
    found: Figures = {}
    places: dict[str, np.ndarray] = {"": scores.asked}
    places |= {f"_at_{depth}": scores.asked & (facts.depth == depth) for depth in range(1, DEEPEST + 1)}
    for end, chosen in places.items():
        if chosen.any():
            found[f"{key}_loss{end}"] = float(scores.losses[chosen].mean())
            found[f"{key}_right{end}"] = 100 * float(scores.correct[chosen].mean())
    return found
