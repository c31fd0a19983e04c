"""A recipe is tried on a store before hours are spent on it."""

from dataclasses import replace

import pytest

from spanwise.config import override
from spanwise.errors import DataError
from spanwise.recipes import find
from spanwise.reporting.calibrate import MIN_PACKS, Calibration, calibrate

SMALL = ["encoder.hidden_size=16", "encoder.intermediate_size=32", "encoder.max_positions=64", "format.max_length=64"]
SMALL += ["batch.max_tokens=256", "batch.tokens_per_step=512", "training.threads=1"]
MEASURED = Calibration(
    device="cpu",
    precision="bf16",
    threads=1,
    first_seconds=10.0,
    pack_seconds=0.4,
    update_seconds=0.2,
    packs_per_step=2,
    tokens_per_pack=500.0,
    packs_per_epoch=40,
    peak_bytes=1_000,
)


def test_a_prediction_follows_from_seconds_a_pack_and_a_step():
    recipe = find("spanbert-tiny")
    assert MEASURED.step_seconds == pytest.approx(1.0)
    assert MEASURED.tokens_per_second == pytest.approx(1000.0)

    length = ["training.max_tokens=null"]
    steps = MEASURED.predict(override(recipe, [*length, "training.max_steps=30"]))
    assert (steps["steps"], steps["tokens"], steps["epochs"], steps["seconds"]) == (30, 30_000, 1.5, 40.0)
    tokens = MEASURED.predict(override(recipe, ["training.max_tokens=30000"]))
    assert (tokens["steps"], tokens["seconds"]) == (30, 40.0)
    epochs = MEASURED.predict(override(recipe, [*length, "training.num_epochs=2"]))
    assert (epochs["steps"], epochs["epochs"]) == (40, 2.0)


def test_a_budget_counts_the_first_slow_step_once():
    recipe = override(find("spanbert-tiny"), ["training.max_tokens=null", "training.budget=100"])

    predicted = MEASURED.predict(recipe)

    assert predicted["steps"] == 90 and predicted["seconds"] == 100.0
    assert predicted["length"] == "budget=100"


@pytest.mark.parametrize("pack_seconds", [0.1 + i / 7_919 for i in range(50)])
def test_the_seconds_of_a_budget_are_the_budget_to_the_last_bit(pack_seconds):
    recipe = override(find("spanbert-tiny"), ["training.max_tokens=null", "training.budget=120"])
    assert replace(MEASURED, pack_seconds=pack_seconds).predict(recipe)["seconds"] == 120.0


def test_a_budget_too_short_for_one_step_is_told_as_one_step():
    predicted = MEASURED.predict(override(find("spanbert-tiny"), ["training.max_tokens=null", "training.budget=5"]))
    assert (predicted["steps"], predicted["seconds"]) == (1, 11.0)


def test_a_store_is_tried_with_the_runs_own_packs(tiny_store):
    recipe = override(find("spanbert-tiny"), SMALL)

    measured = calibrate(recipe, tiny_store, seconds=0.0, device="cpu")

    assert measured.packs_per_step == 2 and measured.packs_per_epoch >= MIN_PACKS
    assert 0 < measured.tokens_per_pack <= 256
    assert measured.pack_seconds > 0 and measured.update_seconds > 0
    assert measured.first_seconds > 0 and measured.peak_bytes > 1_000_000


def test_a_store_that_does_not_fit_is_refused_before_anything_is_built(tiny_store):
    recipe = override(find("spanbert-tiny"), ["word_unit=morpheme", *SMALL])

    with pytest.raises(DataError, match="morphemes"):
        calibrate(recipe, tiny_store, seconds=0.0, device="cpu")
