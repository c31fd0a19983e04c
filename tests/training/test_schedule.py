"""The learning rate is a pure function of step and plan: no jump, never above the peak, zero at the end."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.training.schedule import PlanLine, learning_rate, progress


def plan(*lines: tuple[int, int]) -> list[PlanLine]:
    return [PlanLine(step=step, total_steps=total, reason="test") for step, total in lines]


def rates(lines, **how):
    return [learning_rate(step, lines, **how) for step in range(1, lines[-1].total_steps + 1)]


def test_the_published_recipe_of_spanbert_large():
    lines, how = plan((0, 2_400_000)), {"peak": 1e-4, "warmup": 10_000, "shape": "linear"}

    assert learning_rate(1, lines, **how) == pytest.approx(1e-8, rel=1e-12)
    assert learning_rate(10_000, lines, **how) == 1e-4
    assert learning_rate(2_400_000, lines, **how) == 0.0


@pytest.mark.parametrize("shape", ["linear", "cosine"])
@pytest.mark.parametrize("warmup", [0, 4, 0.1])
def test_warm_up_rises_to_the_peak_and_the_shape_falls_to_zero(shape, warmup):
    found = rates(plan((0, 40)), peak=2.0, warmup=warmup, shape=shape)

    top = found.index(max(found))
    assert max(found) <= 2.0 and min(found) >= 0.0 and found[-1] == 0.0
    assert found[: top + 1] == sorted(found[: top + 1]) and found[top:] == sorted(found[top:], reverse=True)
    if warmup:
        assert found[0] == 0.5 and found[3] == 2.0


def test_constant_stays_at_the_peak_and_a_single_step_uses_it():
    assert rates(plan((0, 6)), peak=1.0, warmup=2, shape="constant") == [0.5, 1, 1, 1, 1, 1]
    assert rates(plan((0, 1)), peak=1.0, warmup=0.06, shape="linear") == [1.0]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_revised_plan_never_makes_the_rate_jump_and_never_changes_the_past(data):
    total = data.draw(st.integers(200, 2000))
    lines = plan((0, total))
    for step in sorted(data.draw(st.sets(st.integers(20, 150), max_size=4))):
        lines = [*lines, PlanLine(step=step, total_steps=data.draw(st.integers(200, 2000)), reason="test")]
    # No step moves the rate further than the shortest warm-up, or the shortest fall (50 steps), does: a warm-up of 6 %
    # has the rest of a revised plan before it, of at least 80 steps.
    warmup, most = data.draw(st.sampled_from([(0.0, 1 / 50), (0.06, 1 / (0.06 * 80)), (10, 1 / 10), (60, 1 / 50)]))
    how = {"peak": 1.0, "warmup": warmup, "shape": "linear"}

    found = rates(lines, **how)

    assert found[-1] == pytest.approx(0.0, abs=1e-9) and min(found) >= 0 and max(found) <= 1.0 + 1e-12
    assert max(abs(a - b) for a, b in pairwise(found)) <= most + 1e-12
    if warmup >= 1:
        assert found[:warmup] == [step / warmup for step in range(1, warmup + 1)]
    for known in range(1, len(lines)):
        cut = lines[known].step
        assert [learning_rate(step, lines[:known], **how) for step in range(1, cut + 1)] == found[:cut]


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_a_run_whose_plan_is_revised_reaches_its_learning_rate_too(shape):
    found = rates(plan((0, 4000), (50, 12_000), (500, 10_000)), peak=3.0, warmup=2000, shape=shape)

    assert found.index(max(found)) == 1999 and max(found) == 3.0 and found[-1] == 0.0
    assert found[1999:] == sorted(found[1999:], reverse=True)


def test_a_run_that_a_revision_ends_within_its_warm_up_has_rates_to_its_end():
    assert rates(plan((0, 40), (3, 5)), peak=1.0, warmup=10, shape="linear") == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_progress_is_straight_between_revisions_and_one_at_the_end():
    lines = plan((0, 100), (50, 60))

    assert progress(50, lines) == 0.5
    assert progress(55, lines) == pytest.approx(0.75)
    assert progress(60, lines) == 1.0
