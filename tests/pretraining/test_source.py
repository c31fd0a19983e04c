"""A step is a pure function of its index, whoever asks and when."""

from __future__ import annotations

import lzma
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from real_text import PACKAGE
from toy_packs import with_parts

from spanwise import recipes
from spanwise.data.prefetch import Prefetcher
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.formats import SentencePair, SingleSegment
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    QuestionTokens,
    RecurringGroups,
    RecurringSpans,
    Replacement,
    TwoMaskings,
)
from spanwise.pretraining.objectives import MaskedLM, NextSentence, SpanBoundary, SpanSelection
from spanwise.pretraining.recipe import PackedBatch
from spanwise.pretraining.source import PretrainingSource
from spanwise.pretraining.system import training_source, usual_source
from spanwise.text.tokenizers import Tokenizer


def batches_of(source, epoch=0):
    return [source.collator.batch(masked) for masked in source.epoch_masked(epoch)]


def source_of(store, **options) -> PretrainingSource:
    parts = dict(
        format=SingleSegment(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()},
        seed=3,
        max_tokens=200,
        packs_per_step=3,
    )
    return with_parts(PretrainingSource, store, **{**parts, **options})


def content(step) -> list:
    return [(batch.ids, batch.input_ids.tolist(), batch.targets["sbo"].left.tolist()) for batch in step]


def test_a_step_is_the_same_whenever_and_in_whatever_order_it_is_asked_for(store):
    """Mid-epoch resume, another process, going back."""
    forward = source_of(store)
    expected = [content(forward.step(index)) for index in range(40)]
    fresh = source_of(store)

    for index in (39, 0, 17, 38, 17, 5):
        assert content(fresh.step(index)) == expected[index]


@pytest.mark.parametrize("depth", [1, 3])
def test_the_prefetch_thread_changes_nothing(store, depth):
    source, plain = source_of(store), source_of(store)

    with Prefetcher(source.step, first=4, depth=depth) as steps:
        for index in range(4, 20):
            assert content(steps.get(index)) == content(plain.step(index))
            assert source.position(index) == plain.position(index)


def test_every_block_is_visited_once_an_epoch(store):
    source = source_of(store, packs_per_step=1)

    for epoch in range(3):
        first = sum(source.num_packs(e) for e in range(epoch))
        ids = [i for k in range(source.num_packs(epoch)) for b in source.step(first + k) for i in b.ids]
        assert sorted(ids) == list(range(source.table.num_blocks))


def test_other_sequences_meet_in_other_epochs(store):
    source = source_of(store)

    packs = [{batch.ids for batch in batches_of(source, epoch)} for epoch in (0, 1)]

    assert len(packs[0] & packs[1]) <= 0.1 * len(packs[0])


def test_capacities_are_kept(store):
    source = source_of(store, max_sequences=5, max_targets=24)

    for batch in batches_of(source):
        assert batch.num_tokens <= 200 and len(batch.ids) <= 5 and max(batch.counts.values()) <= 24


def test_the_position_counts_epochs_passed(store):
    source = source_of(store, packs_per_step=1)
    packs = source.num_packs(0)

    assert source.position(0) == {"epoch": 0.0, "tokens": 0}
    assert source.position(packs // 2)["epoch"] == pytest.approx((packs // 2) / packs)
    assert source.position(packs)["epoch"] == 1.0


def test_the_position_counts_tokens_passed(store):
    """A run may be as long as a number of tokens: the count must be that of the packs, over epochs, in any order."""
    source, fresh = source_of(store), source_of(store)

    passed = 0
    for index in range(source.num_packs(0) + 5):
        assert source.position(index)["tokens"] == passed
        passed += sum(batch.num_tokens for batch in source.step(index))

    assert fresh.position(index + 1)["tokens"] == passed
    assert fresh.position(0)["tokens"] == 0


def test_validation_masks_and_order_are_constant(store):
    """The same masks at each evaluation."""
    source = source_of(store, num_maskings=1, order="stored")

    epochs = [[content([batch])[0] for batch in batches_of(source, epoch)] for epoch in (0, 1, 7)]

    assert epochs[0] == epochs[1] == epochs[2]
    assert [i for batch in epochs[0] for i in batch[0]] == list(range(source.table.num_blocks))


class Shifting(SingleSegment):
    """Leaves out one block more at every epoch, as a format with random partners gives other blocks each time."""

    changes_with_epoch: ClassVar[bool] = True

    def blocks(self, store, seed=0, epoch=0):
        table = super().blocks(store, seed, epoch)
        return replace(table, starts=table.starts[epoch:], lengths=table.lengths[epoch:])


def test_static_masking_repeats_the_sequences_of_a_format_that_changes_too(store):
    """BERT's ten copies were of the sequences with their masks, not of masks alone."""
    static = source_of(store, format=Shifting(max_length=48), num_maskings=2, order="stored")
    dynamic = source_of(store, format=Shifting(max_length=48), order="stored")

    shown = [[content([batch])[0] for batch in batches_of(static, epoch)] for epoch in range(4)]

    assert shown[0] == shown[2] and shown[1] == shown[3] and shown[0] != shown[1]
    assert [content([batch])[0] for batch in batches_of(dynamic, 2)] != shown[0]


PAIRS = dict(format=SentencePair(max_length=48), objectives={"mlm": MaskedLM(), "nsp": NextSentence()})


def pairs(step) -> list:
    return [(batch.ids, batch.input_ids.tolist(), batch.targets["nsp"].labels.tolist()) for batch in step]


def test_a_format_that_changes_with_the_epoch_is_resumed_bit_for_bit_over_the_border_of_epochs(store):
    """Steps of three packs: some lie in two epochs, whose tables differ."""
    forward = source_of(store, **PAIRS)
    epochs = [forward.position(index)["epoch"] for index in range(200)]
    last = next(index for index, epoch in enumerate(epochs) if epoch >= 3.2)
    expected = [pairs(forward.step(index)) for index in range(last)]
    crossing = [index for index in range(last) if int(epochs[index]) != int(epochs[index + 1])]
    fresh = source_of(store, **PAIRS)

    assert len(crossing) >= 3
    for index in (crossing[1], crossing[2], 0, crossing[0], last - 1, crossing[2]):
        assert pairs(fresh.step(index)) == expected[index]
        assert fresh.position(index) == forward.position(index)


def test_every_epoch_of_a_changing_format_visits_its_own_blocks_once(store):
    source = source_of(store, **PAIRS, packs_per_step=1)
    tables = [SentencePair(max_length=48).blocks(store, 3, epoch) for epoch in range(3)]

    passed = 0
    for epoch, table in enumerate(tables):
        batches = list(batches_of(source, epoch))
        assert sorted(i for batch in batches for i in batch.ids) == list(range(table.num_blocks))
        labels = {i: label for b in batches for i, label in zip(b.ids, b.targets["nsp"].labels.tolist(), strict=True)}
        assert [labels[i] for i in range(table.num_blocks)] == table.pair_labels.tolist()
        assert source.position(passed)["tokens"] == sum(t.packed_lengths.sum() for t in tables[:epoch])
        passed += len(batches)
    assert len({table.num_blocks for table in tables}) > 1


def test_static_data_repeats_its_pairs_with_its_masks(store):
    """BERT's data of ten copies: the copies come again, in another order."""
    source = source_of(store, **PAIRS, num_maskings=2, packs_per_step=1, max_tokens=48, max_sequences=1)

    epochs = [sorted(pairs([batch])[0][1:] for batch in batches_of(source, epoch)) for epoch in range(4)]

    assert epochs[0] == epochs[2] != epochs[1] == epochs[3]


def test_shards_change_nothing(documents, write_store, store):
    """N shards are one concatenated file."""
    many = source_of(write_store(documents, shard_bytes=150))

    assert content(many.step(7)) == content(source_of(store).step(7))


def test_a_document_without_a_successor_is_not_lost(write_store):
    """One short document alone, the validation set that yielded zero examples."""
    source = source_of(write_store([[np.array([10, 11, 12])]]))

    assert [batch.num_tokens for batch in batches_of(source)] == [5]
    assert [batch.num_tokens for batch in source.step(100)] == [5, 5, 5]


def test_a_store_without_text_is_an_error_and_not_a_loss_of_zero(store):
    empty = object.__new__(type(store))
    empty.__dict__.update(store.__dict__)
    empty.sentence_lengths = np.zeros(0, dtype=np.int32)
    empty.sentence_offsets = np.zeros(1, dtype=np.int64)
    empty.document_borders = np.zeros(1, dtype=np.int64)

    with pytest.raises(DataError, match="no text"):
        source_of(empty)


def test_capacities_that_hold_nothing_are_refused(store):
    with pytest.raises(ConfigError, match="max_tokens=40"):
        source_of(store, max_tokens=40)
    with pytest.raises(ConfigError, match="packs_per_step"):
        source_of(store, packs_per_step=0)
    with pytest.raises(ConfigError, match="max_targets"):
        source_of(store, max_targets=2)


def test_batches_are_real_tensors_of_the_right_types(store):
    batch = source_of(store).step(0)[0]

    assert batch.input_ids.dtype == batch.token_type_ids.dtype == torch.int64
    assert batch.counts["mlm"] == batch.targets["mlm"].count > 0


def test_no_tokenizer_is_asked_while_batches_are_made(store, monkeypatch):
    """What masking knows of words lies in one table over the vocabulary."""
    from spanwise.text.tokenizers import Tokenizer

    source = source_of(store)

    def refuse(*arguments):
        raise AssertionError("a tokenizer was asked")

    for name in ("load", "encode", "encode_batch", "encode_flat", "tokens", "token_to_id", "starts_word_table"):
        monkeypatch.setattr(Tokenizer, name, refuse)

    assert source.step(0)[0].counts["sbo"] > 0


def test_fixed_packs_have_one_shape_and_lose_no_block(store):
    source = source_of(store, fixed=True, packs_per_step=1)
    limits = source.collator.parts.capacities

    for epoch in range(3):
        packs = batches_of(source, epoch)
        assert sorted(i for pack in packs for i in pack.ids) == list(range(source.table.num_blocks))
        for pack in packs:
            assert len(pack.input_ids) == len(pack.token_type_ids) == len(pack.sequences.positions) == limits.tokens
            assert len(pack.sequences.cu_seqlens) == limits.sequences + 1
            assert int(pack.sequences.cu_seqlens[-1]) == limits.tokens == pack.sequences.num_tokens
            assert pack.sequences.max_length == 48
            assert all(len(pack.targets[name].ids) == limits.targets for name in ("mlm", "sbo"))
            assert pack.counts["mlm"] == int((pack.targets["mlm"].ids >= 0).sum()) <= limits.targets
        assert source.table.packed_lengths.sum() == sum(pack.num_tokens for pack in packs)


def test_no_mask_is_cut_for_the_shape_of_a_pack(store):
    fixed, plain = source_of(store, fixed=True), source_of(store)

    spans = {block: lengths for source in (plain, fixed) for block, lengths in _spans(source)}
    assert all(spans[block] == lengths for block, lengths in _spans(plain))


def test_a_pack_with_more_targets_than_foreseen_gets_more_room_and_loses_none(question_store):
    """Where a replacement shortens, the masking has no capacity, and may hide far more than its ratio says."""
    options = dict(
        masking=TwoMaskings(first=GeometricSpans(ratio=0.4), then=RecurringGroups()),
        replacement=QuestionTokens(others=Replacement()),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary(), "span_selection": SpanSelection()},
        max_tokens=2048,
    )
    fixed, plain = (source_of(question_store, fixed=one, **options) for one in (True, False))
    parts = fixed.collator.parts
    assert all(pack.is_usual for pack in batches_of(fixed))  # as it was tried on
    few = {**parts.shape.tried, "targets": (parts.capacities.targets / 3,)}
    fixed.collator.parts = replace(parts, shape=replace(parts.shape, tried=few))
    foreseen = fixed.collator.parts.capacities.targets

    packs = batches_of(fixed)
    sizes = {len(pack.targets["mlm"].ids) for pack in packs}
    assert max(sizes) > foreseen and sizes <= {foreseen, 2 * foreseen, 4 * foreseen}
    assert all(pack.is_usual == (len(pack.targets["mlm"].ids) == foreseen) for pack in packs)
    assert len({len(pack.input_ids) for pack in packs}) == 1
    assert sum(pack.counts["mlm"] for pack in packs) == sum(pack.counts["mlm"] for pack in batches_of(plain))


def _spans(source):
    """What is hidden in each block: (block, places inside it)."""
    for masked in source.epoch_masked(1):
        firsts, blocks = masked.pack.borders[:-1], masked.pack.block_ids
        places = masked.hidden.position - firsts[masked.hidden.sequence]
        for number, block in enumerate(blocks.tolist()):
            yield block, tuple(places[masked.hidden.sequence == number])


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    text = lzma.decompress((PACKAGE / "quickstart/corpus/wiki-valid.txt.xz").read_bytes())
    (folder / "text.txt").write_bytes(text)
    prepare(folder / "text.txt", Tokenizer.load(PACKAGE / "weights/mini"), folder / "store")
    return TokenStore.open(folder / "store")


def test_fixed_packs_of_real_text_are_at_least_99_percent_full(real):
    source = source_of(real, fixed=True, format=SingleSegment(max_length=256), max_tokens=8192)
    *packs, _ = batches_of(source)  # the last one of an epoch has what is left

    assert len(packs) > 5
    assert sum(pack.num_padding for pack in packs) < 0.01 * sum(len(pack.input_ids) for pack in packs)


@pytest.mark.parametrize(("packs", "most"), [(2, 0.04), (1, 0.03)])
def test_packs_that_a_replacement_shortens_have_the_shape_of_what_is_left(real, packs, most):
    recipe = recipes.find("spanbert-selection-mini")
    batch = replace(recipe.batch, tokens_per_step=16_384, max_tokens=8192, fixed=True, packs=packs)
    source = training_source(replace(recipe, batch=batch), real)
    made = [pack for index in range(8) for pack in source.step(index)]
    full = [pack for pack in made if pack.num_padding < 0.1 * len(pack.input_ids)]  # not the last one of an epoch
    assert len({len(pack.input_ids) for pack in full}) <= 2 and len(full) > 0.7 * len(made)
    assert sum(pack.num_padding for pack in full) < most * sum(len(pack.input_ids) for pack in full)


def test_a_pack_of_which_more_is_left_than_foreseen_gets_more_room(question_store):
    recipe = recipes.find("splinter-mini")
    recipe = replace(recipe, batch=PackedBatch(tokens_per_step=2048, max_tokens=2048, fixed=True))
    source = usual_source(recipe, question_store)
    parts, usual = source.collator.parts, source.step(0)[0]
    assert usual.is_usual and len(usual.input_ids) == parts.capacities.tokens
    few = {name: (1.0,) for name in parts.shape.tried}
    source.collator.parts = replace(parts, shape=replace(parts.shape, tried=few | {"tokens": (1024.0,)}))
    pack = source.step(0)[0]
    assert not pack.is_usual and pack.num_tokens == usual.num_tokens
    assert len(pack.input_ids) == pack.sequences.num_tokens == 2048
    assert pack.counts == usual.counts


def test_packs_that_a_replacement_shortens_are_filled_to_one_shape_and_keep_what_is_asked(question_store):
    options = dict(
        masking=TwoMaskings(first=RecurringGroups(frequent_share=1.0), then=GeometricSpans()),
        replacement=QuestionTokens(others=Replacement()),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary(), "span_selection": SpanSelection()},
    )
    fixed, plain = (source_of(question_store, fixed=one, **options) for one in (True, False))
    limits = fixed.collator.parts.capacities

    packs = batches_of(fixed)
    assert {len(pack.input_ids) for pack in packs} == {limits.tokens}
    assert {len(pack.sequences.cu_seqlens) for pack in packs} == {limits.sequences + 1}
    assert {len(pack.targets[name].ids) for pack in packs for name in ("mlm", "sbo")} == {limits.targets}
    assert sum(pack.counts["span_selection"] for pack in packs) > 0
    for name in ("mlm", "sbo", "span_selection"):
        assert sum(pack.counts[name] for pack in packs) == sum(pack.counts[name] for pack in batches_of(plain))
    assert {block: places for block, places in _spans(fixed)} == {block: places for block, places in _spans(plain)}


@pytest.mark.parametrize("max_targets", [None, 400])
@pytest.mark.parametrize("fixed", [True, False])
def test_two_maskings_have_room_in_packs_whose_replacement_keeps_every_token(question_store, fixed, max_targets):
    masking = TwoMaskings(first=RecurringGroups(frequent_share=1.0), then=GeometricSpans(ratio=0.5))
    options = dict(masking=masking, max_tokens=960)
    packs = batches_of(source_of(question_store, fixed=fixed, max_targets=max_targets, **options))
    assert len({len(pack.targets["mlm"].ids) for pack in packs}) == 1 or not fixed
    if max_targets is None:
        plain = batches_of(source_of(question_store, **options))
        assert sum(pack.counts["mlm"] for pack in packs) == sum(pack.counts["mlm"] for pack in plain)
    else:
        assert max(pack.counts["mlm"] for pack in packs) <= max_targets


def test_a_masking_whose_ratio_counts_tokens_has_ample_room_for_targets_and_others_have_what_was_tried(question_store):
    plain, spans, groups = GeometricSpans(), RecurringSpans(), RecurringGroups()
    of_tokens = [plain, spans, MaskingMixture(schemes={"plain": plain, "spans": spans})]
    of_spans = [groups, MaskingMixture(schemes={"plain": plain, "groups": groups}), TwoMaskings(first=groups)]

    def room(masking):
        return source_of(question_store, fixed=True, masking=masking, max_tokens=960).collator.parts.max_targets

    assert room(plain) and {room(masking) for masking in of_tokens} == {room(plain)}
    assert {room(masking) for masking in of_spans} == {None}
    assert TwoMaskings(first=groups).counts_spans and not TwoMaskings(first=spans).counts_spans


@pytest.mark.parametrize("max_targets", [None, 400])
def test_targets_of_a_tried_pack_that_is_half_full_count_double_unless_they_closed_it(question_store, max_targets):
    options = dict(masking=RecurringGroups(frequent_share=1.0), max_tokens=960, max_targets=max_targets)
    source = source_of(question_store, fixed=True, **options)
    (*_, last) = source.epoch_masked(0)
    fill = len(last.pack.input_ids) / source.collator.parts.tokens_of_pack

    (targets,) = source.collator.tried([last])["targets"]

    assert fill < 0.9 and last.num_chosen > 0
    assert targets == (last.num_chosen / fill if max_targets is None else last.num_chosen)
