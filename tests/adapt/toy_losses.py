"""Losses of five documents, made up."""

from spanwise.adapt.measure import Losses

SPREAD = (0.0, 0.01, -0.01, 0.02, -0.02)


def level(value):
    """Five documents whose losses spread around a level alike."""
    return [value + part for part in SPREAD]


def losses(means):
    return Losses(
        sums={"mlm": [10.0 * mean for mean in means]},
        targets={"mlm": [10] * len(means)},
        characters=[20] * len(means),
        weights={"mlm": 1.0},
    )
