"""Means over seeds and paired differences over seeds, with Student's t intervals; nothing that is missing is hidden.

A mean over seeds of which one diverged would be the mean of the survivors, so none is given: the reason is. Arms are
paired by seed, because a seed decides first weights and the order of the text alike in all of them; the interval of a
difference is then mostly narrower than two deviations suggest. Intervals are not widened for the number of comparisons.

Source: Student's t for paired samples; tests hold it against scipy.stats.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spanwise.training.statistics import Better, paired_difference

Verdict = Literal["better", "worse", "holds zero"]
ONE_SEED = "one seed has no interval"
NO_SPREAD = "equal in all seeds, which says nothing of their spread"


@dataclass(frozen=True, kw_only=True)
class SeedValues:
    """One figure of one column: what each seed gave, and why some gave nothing."""

    values: Mapping[int, float]
    missing: Mapping[int, str]  # seed -> reason

    @property
    def why(self) -> str:
        """The reason why there is no mean; "" where there is one."""
        reasons = dict.fromkeys(self.missing.values())
        if not self.values:
            return "; ".join(reasons) or "not measured"
        return "; ".join(f"seed {seed}: {reason}" for seed, reason in self.missing.items())


@dataclass(frozen=True, kw_only=True)
class SeedMean:
    """Mean, deviation of the sample (n - 1) and 95 % interval of the mean; None where they can't be given."""

    mean: float | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None
    num_seeds: int = 0
    why: str = ""  # what is None, and why


@dataclass(frozen=True, kw_only=True)
class SeedDifference:
    """Ours minus the other's, paired by seed, with its 95 % interval; `verdict` says which is better."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    num_seeds: int = 0
    why: str = ""


def seed_mean(column: SeedValues) -> SeedMean:
    """Return the mean over all seeds, or the reason why there is none."""
    if column.why:
        return SeedMean(num_seeds=len(column.values), why=column.why)
    values = np.array(list(column.values.values()), dtype=np.float64)
    if len(values) == 1:
        return SeedMean(mean=float(values[0]), num_seeds=1, why=ONE_SEED)
    found = paired_difference(values, np.zeros(len(values)), np.arange(len(values)))
    return SeedMean(
        mean=found.value, deviation=float(values.std(ddof=1)), low=found.low, high=found.high, num_seeds=len(values)
    )


def seed_difference(ours: SeedValues, other: SeedValues, *, better: Better) -> SeedDifference:
    """Return the mean difference over the seeds that both columns have; none where a seed of either is missing."""
    why = "; ".join(dict.fromkeys(reason for reason in (ours.why, other.why) if reason))
    seeds = [seed for seed in ours.values if seed in other.values]
    if why or not seeds:
        return SeedDifference(num_seeds=len(seeds), why=why or "no seed in common")
    a, b = (np.array([column.values[seed] for seed in seeds], dtype=np.float64) for column in (ours, other))
    if len(seeds) == 1:
        return SeedDifference(mean=float(a[0] - b[0]), num_seeds=1, why=ONE_SEED)
    if np.ptp(a - b) <= 1e-9 * np.abs(a).max():
        return SeedDifference(mean=float(a[0] - b[0]), num_seeds=len(seeds), why=NO_SPREAD)
    found = paired_difference(a, b, np.arange(len(seeds)))
    verdict: Verdict = "holds zero"
    if found.low > 0 or found.high < 0:
        verdict = "better" if (found.value > 0) == (better == "higher") else "worse"
    return SeedDifference(mean=found.value, low=found.low, high=found.high, verdict=verdict, num_seeds=len(seeds))
