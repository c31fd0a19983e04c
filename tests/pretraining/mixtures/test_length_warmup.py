"""Short sequences come first and for as long as asked, a step is a function of its index, nothing is counted twice."""

from dataclasses import replace
from shutil import copytree

import numpy as np
import pytest

from spanwise import recipes
from spanwise.errors import ConfigError
from spanwise.pretraining.describe import data_path
from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.mixtures.length_warmup import GrowingSource, LengthWarmup
from spanwise.pretraining.mixtures.mixture import open_mixture
from spanwise.pretraining.recipe import PackedBatch, identity_record
from spanwise.pretraining.system import training_source, usual_source

SHORT, LONG, STEPS = 24, 64, 3


def recipe(**changes):
    small = recipes.spanbert_quickstart()
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


def test_a_mixture_counts_the_epochs_of_its_stores_across_the_change(tiny_store, tmp_path):
    copytree(tiny_store.path, tmp_path / "again")
    source = training_source(recipe(), open_mixture({tiny_store.path: 1.0, tmp_path / "again": 2.0}))
    before, after = source.position(STEPS)["epochs"], source.position(2 * STEPS)["epochs"]
    assert after["again"] > before["again"] > before["store"] > 0 and after["store"] > before["store"]


def test_a_warm_up_that_is_no_shorter_is_refused_and_one_of_no_steps_is_none(tiny_store):
    with pytest.raises(ConfigError, match=r"length_warmup\.max_length 64 is not below format\.max_length 64"):
        recipe(length_warmup=LengthWarmup(steps=1, max_length=LONG))
    assert not isinstance(training_source(recipe(length_warmup=LengthWarmup()), tiny_store), GrowingSource)


@pytest.mark.parametrize("length", [{"max_steps": STEPS}, {"max_tokens": 1_000}])
def test_a_warm_up_that_is_the_whole_run_is_refused(tiny_store, length):
    training = replace(recipe().training, **{"max_steps": None, "max_tokens": None, "budget": None, **length})
    with pytest.raises(ConfigError, match="leaves nothing of a run of"):
        training_source(recipe(training=training), tiny_store)


def test_texts_shorter_than_both_lengths_come_in_another_order_behind_the_change(write_store, tokenizer):
    """One order and one draw for both would show the same packs twice."""
    draw = np.random.default_rng(0)
    short = write_store([[draw.integers(5, tokenizer.vocab_size, 10)] for _ in range(200)])
    source = training_source(recipe(), short)
    assert source.tables[0][0].packed_lengths.max() < SHORT
    assert content(source.step(0)) != content(source.step(STEPS))


def test_operations_are_those_of_both_lengths_where_the_steps_are_known(tiny_store):
    def mean_length(**length):
        training = replace(recipe().training, **{"max_steps": None, "budget": None, **length})
        tables = training_source(recipe(training=training), tiny_store).tables
        assert sum(share for _, share in tables) == pytest.approx(1)
        return sum(share * float(table.packed_lengths.mean()) for table, share in tables)

    long = mean_length(budget=60.0)  # how many steps there will be is not known
    short = (4 * mean_length(max_steps=STEPS + 1) - long) / 3  # three steps of four
    assert short < SHORT < long
    assert mean_length(max_steps=2 * STEPS) == pytest.approx((short + long) / 2)


def test_what_began_before_there_was_a_warm_up_goes_on():
    assert "length_warmup" not in identity_record(recipe(length_warmup=LengthWarmup()))
    assert identity_record(recipe())["length_warmup"]["steps"] == STEPS


@pytest.mark.parametrize("system", [recipes.electra_mini, recipes.gpt1_mini, recipes.bert_mini])
def test_every_system_grows(system, tiny_store):
    found = replace(
        system(),
        batch=PackedBatch(tokens_per_step=512, max_tokens=256, max_targets=60),
        format=replace(system().format, max_length=LONG),
        length_warmup=LengthWarmup(steps=STEPS, max_length=SHORT),
    )
    source = training_source(found, tiny_store)
    assert longest(source.step(STEPS - 1)) <= SHORT < longest(source.step(STEPS))


def test_pairs_grow_as_single_sequences_do(tiny_store):
    source = training_source(recipe(format=SentencePair(max_length=LONG)), tiny_store)
    assert longest(source.step(0)) <= SHORT < longest(source.step(STEPS))


def test_the_data_path_says_it():
    assert any("max_length=64), the first 3 steps of at most 24" in line for line in data_path(recipe(), 300))
