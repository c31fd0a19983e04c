"""Ways of guessing are shown in one order, those that are there."""

from spanwise.quickstart.record import FilledPlace, FilledRecord


def test_the_ways_of_guessing_keep_their_order():
    place = FilledPlace(truth="a", guesses={"control": [("a", 0.5)], "sbo": [("b", 0.1)], "mlm": [("a", 0.9)]})
    assert FilledRecord(runs=[], places=[place]).ways == ["mlm", "sbo", "control"]
