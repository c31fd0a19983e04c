"""The usual values of teaching at known sizes of encoders and data."""

import pytest

from spanwise.tasks.teaching import rule
from spanwise.tasks.teaching.rule import usual_dropout, usual_epochs, usual_rate


@pytest.mark.parametrize(
    ("width", "depth", "low", "high"),
    [
        (768, 12, 2e-5, 5e-5),  # BERT and RoBERTa
        (768, 6, 2e-5, 5e-5),  # DistilBERT
        (768, 22, 2e-5, 5e-5),  # ModernBERT
        (1024, 24, 1e-5, 3e-5),
        (4096, 12, 1e-5, 1e-5),  # ALBERT-xxlarge
        (256, 12, 2.5e-4, 3.5e-4),  # ELECTRA-small
        (256, 4, 4e-4, 1e-3),  # what shipped encoders were measured at
        (256, 2, 5e-4, 1e-3),
        (16, 1, 1e-3, 1e-3),
    ],
)
def test_the_rate_is_that_of_the_papers_at_their_sizes(width, depth, low, high):
    assert low <= usual_rate(width, depth) <= high


def test_wider_and_deeper_encoders_never_learn_at_a_higher_rate():
    for depth in (1, 2, 12, 48):
        rates = [usual_rate(width, depth) for width in (32, 128, 256, 384, 512, 768, 1024, 4096)]
        assert rates == sorted(rates, reverse=True)
    assert usual_rate(512, 2) > usual_rate(512, 12) > usual_rate(512, 24)


def test_few_examples_are_read_until_enough_steps_are_done():
    for steps_per_epoch in (1, 3, 7, 31, 32, 200):
        epochs = usual_epochs(steps_per_epoch)
        assert epochs * steps_per_epoch >= rule.LEAST_STEPS
        assert epochs == rule.EPOCHS or (epochs - 1) * steps_per_epoch < rule.LEAST_STEPS
    assert usual_epochs(10_000) == rule.EPOCHS in (3, 4)


def test_dropout_is_the_encoders_own_where_it_is_wide_and_none_where_it_is_not():
    assert [usual_dropout(768, own) for own in (0.0, 0.1, 0.3)] == [0.0, 0.1, 0.1]
    assert usual_dropout(256, 0.1) == 0.0
