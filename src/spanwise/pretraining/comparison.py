"""Columns side by side: counting baselines, random weights and trained weights on the same hidden tokens.

A record is plain JSON: `{"key", "better", "values": {column: {"value", "se"}}, "against_control": {"value", "low",
"high", "verdict"}, "num_items"}`, with "against_unigram" and "against_bigram" alike where there are baselines.
Accuracies are per cent, losses nats a token. Letters: N hidden tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.hidden_tokens import DEEPEST, HiddenTokens
from spanwise.pretraining.measure import TokenScores
from spanwise.training.statistics import clustered_mean, paired_difference

CONTROL, TRAINED = "control", "trained"
Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Records of all measures, and of accuracy by distance from the nearest visible token, by head name."""

    measures: list[dict[str, Any]]
    by_distance: dict[str, list[dict[str, Any]]]


def baseline_scores(baseline: NeighbourBaseline, facts: HiddenTokens) -> dict[str, TokenScores]:
    """The columns "unigram" and "bigram"; the same guesses stand beside MLM and SBO."""
    asked = np.ones(len(facts.original_ids), dtype=bool)
    unigram = baseline.unigram_guesses(facts.original_ids)
    bigram = baseline.bigram_guesses(facts.original_ids, facts.left, facts.right)
    return {
        name: TokenScores(losses=guesses.losses, correct=guesses.correct, asked=asked)
        for name, guesses in (("unigram", unigram), ("bigram", bigram))
    }


def compare(
    facts: HiddenTokens, baselines: Mapping[str, TokenScores], models: Mapping[str, Mapping[str, TokenScores]]
) -> Comparison:
    """Put baselines {column: scores} and models {column: {head: scores}} side by side.

    `models` holds "control" and "trained", and maybe others. Standard errors and intervals cluster by sequence.
    """
    measures: list[dict[str, Any]] = []
    by_distance: dict[str, list[dict[str, Any]]] = {}
    heads = [head for head in ("mlm", "sbo") if head in models[TRAINED]]
    for head in heads:
        columns = {**baselines, **{name: scores[head] for name, scores in models.items() if head in scores}}
        asked = columns[TRAINED].asked
        edge = asked & (facts.distance == 1)
        losses = {name: scores.losses for name, scores in columns.items()}
        hits = {name: 100.0 * scores.correct for name, scores in columns.items()}
        measures.append(compare_columns(f"{head}_loss", losses, facts.sequence, asked, "lower"))
        measures.append(compare_columns(f"{head}_accuracy", hits, facts.sequence, asked, "higher"))
        measures.append(compare_columns(f"{head}_edge_accuracy", hits, facts.sequence, edge, "higher"))
        by_distance[head] = []
        for depth in range(1, DEEPEST + 1):
            here = asked & (facts.depth == depth)
            if here.any():
                name = f"{depth}+" if depth == DEEPEST else str(depth)
                record = compare_columns(f"{head}_accuracy", hits, facts.sequence, here, "higher")
                by_distance[head].append({"distance": name, **record})
    order = {"loss": 0, "accuracy": 1, "edge_accuracy": 2}
    measures.sort(key=lambda record: (order[record["key"].split("_", 1)[1]], heads.index(record["key"][:3])))
    return Comparison(measures=measures, by_distance=by_distance)


def compare_columns(
    key: str, columns: Mapping[str, np.ndarray], clusters: np.ndarray, chosen: np.ndarray, better: Better
) -> dict[str, Any]:
    """One record: means of the chosen items [N] of every column, and trained against control where both are there."""
    record: dict[str, Any] = {"key": key, "better": better, "num_items": int(chosen.sum()), "values": {}}
    for name, values in columns.items():
        estimate = clustered_mean(values[chosen], clusters[chosen])
        record["values"][name] = {"value": finite(estimate.value), "se": finite(estimate.standard_error)}
    for reference in ("unigram", "bigram", CONTROL):
        if reference in columns and TRAINED in columns:
            gain = paired_difference(
                columns[TRAINED][chosen], columns[reference][chosen], clusters[chosen], better=better
            )
            record[f"against_{reference}"] = {
                "value": finite(gain.value),
                "low": finite(gain.low),
                "high": finite(gain.high),
                "verdict": gain.verdict.replace("control", reference),
            }
    return record


def finite(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None
