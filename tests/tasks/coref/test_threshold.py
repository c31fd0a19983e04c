"""The threshold of links, chosen on dev data."""

from spanwise.tasks.coref.threshold import THRESHOLDS, best_threshold


def test_the_best_one_is_taken_and_of_equal_ones_the_nearest_to_that_of_the_papers():
    assert best_threshold(lambda threshold: -abs(threshold + 1.6)) == -1.5
    assert best_threshold(lambda threshold: 1.0) == 0.0
    assert best_threshold(lambda threshold: float(threshold <= -1.0)) == -1.0
    assert 0.0 in THRESHOLDS and tuple(sorted(THRESHOLDS)) == THRESHOLDS
