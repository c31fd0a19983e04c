"""Every length law is a checked list of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import GeometricSpans, lengths


@pytest.mark.parametrize(("p", "mean"), [(0.1, 4.647), (0.2, 3.797), (0.4, 2.439)])
def test_the_geometric_law_is_renormalised_and_not_clipped(p, mean):
    law = lengths.geometric(p, 10)

    assert law.sum() == pytest.approx(1)
    assert law @ np.arange(1, 11) == pytest.approx(mean, abs=6e-4)
    np.testing.assert_allclose(law[1:] / law[:-1], 1 - p)


def test_p_of_one_gives_single_words():
    assert lengths.geometric(1.0, 10).tolist() == [1.0] + [0.0] * 9


def test_the_poisson_law_is_renormalised_over_its_range():
    expected = stats.poisson(3.0).pmf(np.arange(1, 11))

    np.testing.assert_allclose(lengths.poisson(3.0, 1, 10), expected / expected.sum())


def test_uniform_and_explicit_laws_are_taken_as_they_are():
    np.testing.assert_allclose(lengths.uniform(4), [0.25] * 4)
    np.testing.assert_allclose(lengths.explicit((0.5, 0.0, 0.5), 3), [0.5, 0, 0.5])


@pytest.mark.parametrize(
    "values",
    [
        {"lengths": "uniform"},
        {"lengths": "poisson", "mean_words": 3.0},
        {"lengths": "explicit", "probabilities": tuple([0.0] * 9 + [1.0])},
        {"min_words": 3, "max_words": 7},
    ],
)
def test_a_scheme_has_the_law_it_was_given(values):
    law = GeometricSpans(**values).length_probabilities

    assert law.sum() == pytest.approx(1) and len(law) == values.get("max_words", 10) - values.get("min_words", 1) + 1


@pytest.mark.parametrize("probabilities", [(0.5, 0.6), (1.5, -0.5), (float("nan"), 1.0), (1.0,)])
def test_probabilities_that_are_no_law_are_refused(probabilities):
    with pytest.raises(ConfigError, match="probabilit"):
        lengths.explicit(probabilities, 2)


def test_a_mean_or_p_that_makes_no_law_is_refused():
    with pytest.raises(ConfigError, match="mean_words"):
        lengths.poisson(0.0, 1, 10)
    with pytest.raises(ConfigError, match=r"masking\.p"):
        lengths.geometric(1.2, 10)
