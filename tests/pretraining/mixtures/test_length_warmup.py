"""Short sequences come first and for as long as asked, a step is a function of its index, nothing is counted twice."""

from dataclasses import replace
from shutil import copytree

import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.describe import data_path
from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.mixtures.length_warmup import GrowingSource, LengthWarmup
from spanwise.pretraining.mixtures.mixture import open_mixture
from spanwise.pretraining.recipe import PackedBatch
from spanwise.pretraining.system import training_source, usual_source
from spanwise.recipes import spanbert_quickstart

SHORT, LONG, STEPS = 24, 64, 3


def recipe(**changes):
    small = spanbert_quickstart()
    values = {
        "format": replace(small.format, max_length=LONG),
        "batch": PackedBatch(tokens_per_step=512, max_tokens=256),
        "length_warmup": LengthWarmup(steps=STEPS, max_length=SHORT),
    }
    return replace(small, **{**values, **changes})


def content(step):
    return [(batch.ids, batch.input_ids.tolist(), batch.targets["mlm"].ids.tolist()) for batch in step]


def num_tokens(step):
    return sum(len(batch.input_ids) - batch.num_padding for batch in step)


def longest(step):
    return max(max(batch.sequences.lengths) for batch in step)


def test_sequences_grow_once_and_a_step_keeps_its_tokens(tiny_store):
    source = training_source(recipe(), tiny_store)
    assert isinstance(source, GrowingSource)
    lengths = [longest(source.step(index)) for index in range(2 * STEPS)]
    assert max(lengths[:STEPS]) <= SHORT < min(lengths[STEPS:]) and max(lengths) <= LONG
    for index in range(2 * STEPS):
        assert num_tokens(source.step(index)) > 0.8 * 512


def test_behind_the_warm_up_come_the_steps_of_a_run_without_one(tiny_store):
    source, usual = training_source(recipe(), tiny_store), usual_source(recipe(), tiny_store)
    for index in (5, 0, 2, 9):  # in any order: nothing is remembered
        assert content(source.step(STEPS + index)) == content(usual.step(index))
    assert content(source.step(1)) == content(training_source(recipe(), tiny_store).step(1))
    one, two = (source.step(1, rank, 2) for rank in (0, 1))
    assert content(one) + content(two) == content(source.step(1))


@pytest.mark.parametrize("mixed", [False, True])
def test_tokens_and_epochs_add_up_across_the_change(tiny_store, tmp_path, mixed):
    data = tiny_store
    if mixed:
        copytree(tiny_store.path, tmp_path / "again")
        data = open_mixture({tiny_store.path: 1.0, tmp_path / "again": 2.0})
    source = training_source(recipe(), data)
    passed = [source.position(index) for index in range(2 * STEPS + 1)]
    assert passed[0]["tokens"] == 0
    for index in range(2 * STEPS):
        assert passed[index + 1]["tokens"] - passed[index]["tokens"] == num_tokens(source.step(index))
        assert passed[index + 1]["epoch"] > passed[index]["epoch"]


def test_a_warm_up_that_is_no_shorter_is_refused_and_one_of_no_steps_is_none(tiny_store):
    with pytest.raises(ConfigError, match=r"length_warmup\.max_length 64 is not below format\.max_length 64"):
        recipe(length_warmup=LengthWarmup(steps=1, max_length=LONG))
    assert not isinstance(training_source(recipe(length_warmup=LengthWarmup()), tiny_store), GrowingSource)


def test_pairs_grow_as_single_sequences_do(tiny_store):
    source = training_source(recipe(format=SentencePair(max_length=LONG)), tiny_store)
    assert longest(source.step(0)) <= SHORT < longest(source.step(STEPS))


def test_the_data_path_says_it():
    assert any("max_length=64), the first 3 steps of at most 24" in line for line in data_path(recipe(), 300))
