"""Figures from losses, and the check that decides."""

import pytest
from tests.adapt.toy_losses import level, losses

from spanwise.adapt.record import check_of, figure_of


def test_a_figure_has_a_mean_and_an_error_over_documents():
    figure = figure_of(losses(level(4.0)), "token")
    assert figure.loss == pytest.approx(4.0) and figure.num_clusters == 5
    assert figure.standard_error == pytest.approx(0.00707, rel=0.01) and figure.objectives == {
        "mlm": pytest.approx(4.0)
    }
    assert figure_of(losses(level(4.0)), "character").loss == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("own", "general", "best", "is_within", "is_kept"),
    [
        (3.5, 3.0, None, True, True),
        (3.5, 3.06, None, True, True),
        (3.5, 3.07, None, False, False),
        (3.5, 3.0, 3.4, True, False),
        (4.5, 2.0, None, True, False),
        (3.995, 3.0, None, True, False),  # sure, and too little to be worth a change
    ],
)
def test_a_check_is_kept_where_it_is_better_than_all_before_within_the_bound(own, general, best, is_within, is_kept):
    before = {"own": losses(level(4.0)), "general": losses(level(3.0))}
    now = {"own": losses(level(own)), "general": losses(level(general))}
    check = check_of(10, before, now, "token", bound=0.0201, best=best)
    assert (check.step, check.is_within_bound, check.is_kept) == (10, is_within, is_kept)
    assert check.gain == pytest.approx(4.0 - own) and check.general_rise == pytest.approx(general / 3.0 - 1.0)
