"""A mixture keeps its shares, repeats small stores in another order, and is resumed bit for bit."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from toy_packs import with_parts

from spanwise.data.prefetch import Prefetcher
from spanwise.errors import ConfigError
from spanwise.pretraining.collate import Collator
from spanwise.pretraining.formats import OrderedPair, SentencePair, SingleSegment
from spanwise.pretraining.masking import GeometricSpans, Replacement, SubwordTokens, TwoMaskings
from spanwise.pretraining.mixtures import mixed_source
from spanwise.pretraining.mixtures.mixed_source import STORE_IDS, MixedSource, join_masked
from spanwise.pretraining.mixtures.mixture import open_mixture
from spanwise.pretraining.objectives import MaskedLM, NextSentence, SentenceOrder, SpanBoundary

SHARES = (0.3, 0.7)


@pytest.fixture(scope="module")
def stores(write_store, documents, store):
    """60 documents, and 6 others: ten times fewer tokens with more than twice the share."""
    return store, write_store([[sentence[::-1] for sentence in document] for document in documents[:6]])


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Walk in chunks of a few packs, so that a short run crosses many of their borders."""
    monkeypatch.setattr(mixed_source, "CHUNK_BLOCKS", 1)
    monkeypatch.setattr(mixed_source, "_AHEAD_BLOCKS", 7)


def source_of(stores, shares=SHARES, **options) -> MixedSource:
    parts = dict(
        format=SingleSegment(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()},
        seed=3,
        max_tokens=200,
        packs_per_step=3,
    )
    mixture = open_mixture(dict(zip([store.path for store in stores], shares, strict=True)))
    return with_parts(MixedSource, mixture, **{**parts, **options})


def content(step) -> list:
    return [(batch.ids, batch.input_ids.tolist(), batch.targets["mlm"].ids.tolist()) for batch in step]


def by_store(ids) -> list[list[int]]:
    return [[i - number * STORE_IDS for i in ids if i // STORE_IDS == number] for number in (0, 1)]


def test_after_every_pack_each_store_has_its_share_of_the_tokens_to_within_two_blocks(stores):
    source = source_of(stores, packs_per_step=1)
    tables = [table for table, _ in source.tables]

    read = np.zeros(2)
    for index in range(150):
        ids = by_store(source.step(index)[0].ids)
        read += [table.packed_lengths[rows].sum() for table, rows in zip(tables, ids, strict=True)]
        assert read[0] == pytest.approx(0.3 * read.sum(), abs=2 * 48)
        assert source.position(index + 1)["tokens"] == read.sum()


def test_every_store_is_read_whole_before_any_of_it_comes_again_and_then_in_another_order(stores):
    source = source_of(stores, packs_per_step=1)
    sizes = [table.num_blocks for table, _ in source.tables]

    seen = [[], []]
    for index in range(150):
        for ids, found in zip(by_store(source.step(index)[0].ids), seen, strict=True):
            found.extend(ids)

    for size, ids in zip(sizes, seen, strict=True):
        epochs = [ids[first : first + size] for first in range(0, len(ids) - size + 1, size)]
        assert all(sorted(epoch) == list(range(size)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) == len(epochs)
    assert len(seen[1]) > 15 * sizes[1]
    epochs = source.position(150)["epochs"]
    assert list(epochs.values()) == pytest.approx([len(ids) / size for ids, size in zip(seen, sizes, strict=True)])
    assert list(epochs) == [part.name for part in source.mixture.parts]


def test_a_block_that_comes_again_is_masked_anew(stores):
    source = source_of(stores, packs_per_step=1)
    block = source.step(0)[0].ids[-1]

    masks = set()
    for index in range(60):
        for masked in source.masked_step(index):
            for place in np.flatnonzero(masked.pack.block_ids == block):
                hidden = masked.hidden.position[masked.hidden.sequence == place] - masked.pack.borders[place]
                masks.add(tuple(hidden.tolist()))

    assert block >= STORE_IDS and len(masks) > 3


@pytest.mark.parametrize("part", [SingleSegment(max_length=48), SentencePair(max_length=48)])
def test_a_step_is_the_same_whenever_and_in_whatever_order_it_is_asked_for(part, stores):
    """A mixture's steps: mid-epoch resume of each store, chunks of the walk, going back."""
    forward = source_of(stores, format=part)
    expected = [content(forward.step(index)) for index in range(40)]
    fresh = source_of(stores, format=part)

    for index in (39, 0, 17, 38, 17, 30):
        assert content(fresh.step(index)) == expected[index]
        assert fresh.position(index) == forward.position(index)


def test_the_prefetch_thread_changes_nothing(stores):
    source, plain = source_of(stores), source_of(stores)

    with Prefetcher(source.step, first=4, depth=3) as steps:
        for index in range(4, 20):
            assert content(steps.get(index)) == content(plain.step(index))
            assert source.position(index) == plain.position(index)


def test_how_far_the_walk_looks_ahead_changes_nothing(stores, monkeypatch):
    short = source_of(stores)
    before = [content(short.step(index)) for index in range(30)]
    monkeypatch.setattr(mixed_source, "CHUNK_BLOCKS", 1 << 11)
    monkeypatch.setattr(mixed_source, "_AHEAD_BLOCKS", 1 << 10)
    long = source_of(stores)

    assert [content(long.step(index)) for index in range(30)] == before


def test_capacities_are_kept(stores):
    source = source_of(stores, max_sequences=5, max_targets=24)

    for index in range(30):
        for batch in source.step(index):
            assert batch.num_tokens <= 200 and len(batch.ids) <= 5 and max(batch.counts.values()) <= 24


def test_packs_are_as_full_as_those_of_one_store(stores):
    source = source_of(stores, packs_per_step=1)

    tokens = [source.step(index)[0].num_tokens for index in range(100)]

    assert min(tokens) > 200 - 48 and max(tokens) <= 200


@pytest.mark.parametrize(("part", "objective"), [
    (SentencePair(max_length=48), NextSentence()),
    (OrderedPair(max_length=48), SentenceOrder()),
])  # fmt: skip
def test_labels_of_pairs_stay_with_their_sequences(part, objective, stores):
    source = source_of(stores, format=part, objectives={objective.name: objective, "mlm": MaskedLM()}, packs_per_step=1)
    tables = [table for table, _ in source.tables]

    [masked] = source.masked_step(0)
    ids = by_store(masked.pack.block_ids.tolist())

    first = int(np.argmax(masked.pack.block_ids >= STORE_IDS))
    assert masked.pack.pair_labels[:first].tolist() == tables[0].pair_labels[ids[0]].tolist()
    assert len(masked.pack.pair_labels) == len(ids[0]) + len(ids[1])


def test_an_epoch_is_as_many_tokens_as_the_stores_hold_together(stores):
    source = source_of(stores)
    total = sum(table.packed_lengths.sum() for table, _ in source.tables)

    position = source.position(20)

    assert source.position(0) == {"epoch": 0.0, "tokens": 0, "epochs": dict.fromkeys(position["epochs"], 0.0)}
    assert position["epoch"] == pytest.approx(position["tokens"] / total)


def test_packs_of_one_shape_have_it_in_a_mixture_too(stores):
    source = source_of(stores, fixed=True, max_tokens=200)
    shape = source.collator.parts.capacities
    packs = [pack for index in range(4) for pack in source.step(index)]
    assert {(len(pack.input_ids), pack.targets["mlm"].count) for pack in packs} == {(shape.tokens, shape.targets)}
    assert all(pack.is_usual for pack in packs)


def test_capacities_that_hold_nothing_are_refused(stores):
    with pytest.raises(ConfigError, match="max_tokens=40"):
        source_of(stores, max_tokens=40)
    with pytest.raises(ConfigError, match="packs_per_step"):
        source_of(stores, packs_per_step=0)


ROWS = np.array([7, 3, 12, 30, 1])


def test_parts_end_to_end_are_the_whole(store):
    collator = with_parts(
        Collator,
        store,
        format=SentencePair(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
        seed=3,
    )
    table = collator.format.blocks(store, 3, 0)
    whole = collator.masked(table, ROWS, 0)

    joined = join_masked([collator.masked(table, rows, 0) for rows in (ROWS[:2], ROWS[2:3], ROWS[3:])])

    np.testing.assert_array_equal(joined.input_ids, whole.input_ids)
    for name in ("pack", "spans", "hidden"):
        for field in fields(getattr(whole, name)):
            np.testing.assert_array_equal(
                getattr(getattr(joined, name), field.name),
                getattr(getattr(whole, name), field.name),
                err_msg=field.name,
            )
    targets = collator.objectives["mlm"].targets(joined.pack, joined.spans, joined.hidden)
    assert targets.count == len(whole.hidden.position)


def test_side_arrays_are_joined_too(store):
    collator = with_parts(
        Collator,
        store,
        format=SentencePair(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM()},
        seed=3,
    )
    table = collator.format.blocks(store, 3, 0)
    parts = [collator.masked(table, rows, 0) for rows in (ROWS[:2], ROWS[2:])]
    tagged = [
        replace(part, pack=replace(part.pack, side={"tags": np.full(len(part.input_ids), number, dtype=np.uint8)}))
        for number, part in enumerate(parts, 1)
    ]

    tags = join_masked(tagged).pack.side["tags"]

    assert tags.tolist() == [1] * len(parts[0].input_ids) + [2] * len(parts[1].input_ids)
    assert join_masked(parts[:1]) is parts[0]


def test_two_maskings_have_room_for_both_where_packs_close_at_their_targets(stores):
    masking = TwoMaskings(first=GeometricSpans(ratio=0.4), then=SubwordTokens(ratio=0.2))
    source = source_of(stores, masking=masking, max_targets=60)
    counts = [batch.counts["mlm"] for index in range(10) for batch in source.step(index)]
    assert 30 < max(counts) <= 60
