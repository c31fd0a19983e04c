"""Columns side by side: counting baselines, random weights and trained weights on the same hidden tokens.

Accuracies are per cent, losses nats a token. Letters: N hidden tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spanwise.pretraining.baselines import DEEPEST, HiddenTokens, NeighbourBaseline
from spanwise.pretraining.measure import TokenScores
from spanwise.runtime.progress import finite
from spanwise.training.statistics import Better, clustered_mean, paired_difference

CONTROL, TRAINED = "control", "trained"
# what the trained column is compared with: counted words, random weights, the model as it came, answers by shared words
REFERENCES = ("unigram", "bigram", CONTROL, "init", "lexical")


@dataclass(frozen=True, kw_only=True)
class ColumnMean:
    """The mean of one column with its standard error; None where it is not finite."""

    value: float | None
    se: float | None


@dataclass(frozen=True, kw_only=True)
class Gain:
    """What the trained column gained over a reference, paired, with its 95 % interval and the verdict in words."""

    value: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure of all columns, and what training gained over the references that are there."""

    key: str
    better: Better
    num_items: int
    values: Mapping[str, ColumnMean]
    gains: Mapping[str, Gain]  # over each reference that is there
    distance: str = ""  # from the nearest visible token, where it is measured by distance


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All measures, and accuracy by distance from the nearest visible token, by head name."""

    measures: list[Measure]
    by_distance: dict[str, list[Measure]]


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
    measures: list[Measure] = []
    by_distance: dict[str, list[Measure]] = {}
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
                measure = compare_columns(f"{head}_accuracy", hits, facts.sequence, here, "higher")
                by_distance[head].append(replace(measure, distance=name))
    order = {"loss": 0, "accuracy": 1, "edge_accuracy": 2}
    measures.sort(key=lambda measure: (order[measure.key.split("_", 1)[1]], heads.index(measure.key[:3])))
    return Comparison(measures=measures, by_distance=by_distance)


def compare_columns(
    key: str, columns: Mapping[str, np.ndarray], clusters: np.ndarray, chosen: np.ndarray, better: Better
) -> Measure:
    """Return means of the chosen items [N] of every column, and trained against the references that are there."""
    means = {name: clustered_mean(values[chosen], clusters[chosen]) for name, values in columns.items()}

    def gain_over(reference: str) -> Gain:
        trained, other = columns[TRAINED][chosen], columns[reference][chosen]
        gain = paired_difference(trained, other, clusters[chosen], better=better)
        return Gain(
            value=finite(gain.value),
            low=finite(gain.low),
            high=finite(gain.high),
            verdict=gain.verdict.replace("control", reference),
        )

    return Measure(
        key=key,
        better=better,
        num_items=int(chosen.sum()),
        values={name: ColumnMean(value=finite(m.value), se=finite(m.standard_error)) for name, m in means.items()},
        gains={name: gain_over(name) for name in REFERENCES if name in columns and TRAINED in columns},
    )
