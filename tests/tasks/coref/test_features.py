"""Packs of documents: special tokens outside every span, windows of long documents, candidates and gold."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from spanwise.tasks.batches import Packing
from spanwise.tasks.coref.documents import CoreferenceData, TextDocument
from spanwise.tasks.coref.features import TARGET, document_states
from spanwise.tasks.coref.reader import read_coreference


@pytest.fixture(scope="module")
def features(stories, tokenizer, small_task, small_encoder):
    data = read_coreference(stories, purpose="train")
    return small_task.featurize(data, tokenizer, small_encoder.config, training=True)


def test_a_pack_holds_the_segments_and_points_at_every_piece_but_the_special_ones(features, tokenizer):
    batch = features.assemble([3, 0])
    targets = batch.targets[TARGET]
    assert batch.ids == (3, 0) and sum(batch.sequences.lengths) == len(batch.input_ids)
    assert batch.sequences.max_length <= 16
    for rows, row in zip(targets.rows, (3, 0), strict=True):
        assert np.array_equal(batch.input_ids[rows], features.documents[row].ids_T)
    special = torch.ones(len(batch.input_ids), dtype=torch.bool)
    special[torch.cat(targets.rows)] = False
    assert set(batch.input_ids[special].tolist()) == {tokenizer.cls_id, tokenizer.sep_id}
    assert int(special.sum()) == 2 * len(batch.sequences.lengths)
    assert features.lengths_W[[3, 0]].sum() == len(batch.input_ids)
    assert sorted(features.sequence_lengths) == sorted(n for r in range(12) for n in features.segment_lengths(r))


def test_a_segment_has_the_same_number_in_every_pack_and_window(features):
    both, first = (features.assemble(rows).sequence_ids for rows in ([3, 0], [0]))
    assert len(set(both)) == len(features.segment_lengths(3)) + len(first) > 2 and both[-len(first) :] == first
    window = dataclasses.replace(features, max_segments=1).at_epoch(0, seed=1)
    assert set(window.assemble([3, 0]).sequence_ids) <= set(both)


def test_the_count_is_how_many_spans_are_kept(features):
    batch = features.assemble([0, 1])
    kept = [min(d.num_spans, len(d.start_N)) for d in batch.targets[TARGET].documents]
    assert batch.counts == {TARGET: sum(kept)}
    assert dataclasses.replace(features, with_mention_loss=True).assemble([0]).counts.keys() == {TARGET, "mentions"}


def test_gold_mentions_are_candidates_with_their_clusters(features):
    for row in range(len(features)):
        document = features.tensors(row)
        candidates = set(zip(document.start_N.tolist(), document.end_N.tolist(), strict=True))
        assert {(a, b) for a, b, _ in features.gold(row).tolist()} <= candidates
        assert len(features.gold(row)) == 6 and set(features.gold(row)[:, 2]) == {1, 2}
    kept = dataclasses.replace(features, keep_gold=True).tensors(0)
    spans = np.stack([kept.start_N, kept.end_N], 1)[kept.always_N]
    assert spans.tolist() == features.gold(0)[:, :2].tolist()
    assert features.tensors(0).always_N is None


def test_an_epoch_shows_a_window_of_segments_that_depends_on_seed_epoch_and_document_alone(features):
    short = dataclasses.replace(features, max_segments=1)
    shown = [short.at_epoch(epoch, 7).shown_W2.tolist() for epoch in range(40)]
    assert shown == [short.at_epoch(epoch, 7).shown_W2.tolist() for epoch in range(40)]
    assert shown != [short.at_epoch(epoch, 8).shown_W2.tolist() for epoch in range(40)]
    for row in range(len(features)):
        starts = {epoch[row][0] for epoch in shown}
        assert starts == set(range(len(features.borders[row]) - 1))  # each of them sooner or later
        assert all(last - first == 1 for first, last in (epoch[row] for epoch in shown))
    whole = dataclasses.replace(features, max_segments=9)  # more than there are
    assert whole.at_epoch(0, 7).shown_W2.tolist() == features.shown_W2.tolist()


def test_a_window_has_its_own_pieces_candidates_gold_and_segments(features):
    short = dataclasses.replace(features, max_segments=1)
    for epoch in range(4):
        window = short.at_epoch(epoch, 0)
        begin, end = window.range_of(0)
        batch = window.assemble([0])
        (rows,), (document,), (gold,) = (getattr(batch.targets[TARGET], name) for name in ("rows", "documents", "gold"))
        assert np.array_equal(batch.input_ids[rows], features.documents[0].ids_T[begin:end])
        assert (document.segment_T == 0).all() and len(document.speaker_T) == end - begin
        assert document.end_N.max() <= end - begin
        inside = [m for m in features.documents[0].gold_M3.tolist() if begin <= m[0] and m[1] <= end]
        assert gold.tolist() == [[a - begin, b - begin, c] for a, b, c in inside]


def test_no_candidate_crosses_a_sentence(features):
    for row in range(len(features)):
        document, sentences = features.tensors(row), features.documents[row].sentence_T
        assert (sentences[document.start_N] == sentences[document.end_N - 1]).all()


def test_no_more_spans_are_kept_than_the_share_of_the_pieces_and_the_cap_allow(features):
    for row in range(len(features)):
        num_pieces = len(features.documents[row])
        share = dataclasses.replace(features, spans_per_piece=0.5, max_spans=10_000)
        assert share.tensors(row).num_spans == num_pieces // 2 > 5
        capped = dataclasses.replace(share, max_spans=5)
        assert capped.tensors(row).num_spans == 5
        assert capped.assemble([row]).counts == {TARGET: 5}
        assert dataclasses.replace(share, spans_per_piece=1e-9).tensors(row).num_spans == 1  # never none


def test_the_options_of_the_task_reach_the_cap(stories, tokenizer, small_task, small_encoder):
    data = read_coreference(stories, purpose="train")
    task = dataclasses.replace(small_task, max_spans=3, spans_per_piece=0.9)
    found = task.featurize(data, tokenizer, small_encoder.config, training=False)
    assert {document.num_spans for document in map(found.tensors, range(len(found)))} == {3}


@pytest.fixture(scope="module")
def whole_features(stories, tokenizer, small_task, small_encoder):
    data = read_coreference(stories, purpose="score")
    texts = [TextDocument(name=name, text=text) for name, text in (("e", ""), ("one", "a"), ("e2", " "))]
    documents = (texts[0], *data.documents[:5], texts[1], texts[2])
    data = CoreferenceData(source="s", documents=documents)
    return small_task.featurize(data, tokenizer, small_encoder.config, training=False)


@pytest.fixture(scope="module")
def encode(small_encoder):
    small_encoder.eval()

    @torch.inference_mode()
    def run(batch):
        return small_encoder(batch.input_ids, batch.token_type_ids, batch.sequences)

    return run


def test_states_are_those_of_each_document_alone_bit_for_bit(whole_features, encode):
    alone = []
    for row in range(len(whole_features)):
        kept = [
            getattr(whole_features, name)[row : row + 1] for name in ("documents", "borders", "shown_W2", "genre_W")
        ]
        names = ("documents", "borders", "shown_W2", "genre_W")
        one = dataclasses.replace(whole_features, **dict(zip(names, kept, strict=True)))
        alone += [states.pop() for states in document_states(encode, one, Packing(64))]
    for budget in (64, 100, 10_000):
        found = [states.pop() for states in document_states(encode, whole_features, Packing(budget))]
        assert len(found) == len(whole_features)
        for a, b, document in zip(found, alone, whole_features.documents, strict=True):
            assert len(a) == len(document) and torch.equal(a, b)


def test_a_pack_is_never_larger_than_asked_for(whole_features, encode):
    sizes = []

    def counting(batch):
        sizes.append(len(batch.input_ids))
        return encode(batch)

    for states in document_states(counting, whole_features, Packing(70)):
        states.pop()
    assert max(sizes) <= 70 and len(sizes) > 3


def test_whoever_takes_the_states_has_the_only_reference(whole_features, encode):
    for states in document_states(encode, whole_features, Packing(64)):
        taken = states.pop()
        assert sys.getrefcount(taken) == 2 and states == []


def memory(*options):
    """The row that benchmarks/coreference.py gives of the memory of a long document against a short one."""
    program = Path(__file__).parents[3] / "benchmarks" / "coreference.py"
    command = [sys.executable, str(program), "--memory", "--json", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=True)
    (row,) = json.loads(done.stdout)
    return row


@pytest.mark.slow
def test_a_longer_document_does_not_keep_the_hidden_layers_of_all_its_candidates():
    row = memory("--words", 200, 1200, "--sizes", "1x64", "--ffn", 3000)
    # They alone would be 180 MiB. 27 to 45 are taken, as the allocator likes: the ratio is left to the slow test.
    assert row["ours"] < 100


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2])
def test_a_document_ten_times_as_long_takes_less_than_twice_the_memory(depth):
    ratios = []
    while len(ratios) < 3 and min(ratios, default=9) > 2:  # 1.6 to 2 in single runs, by the allocator's chance
        ratios.append(memory("--words", 2_000, 20_000, "--depth", depth)["ratio"])
    assert min(ratios) <= 2, ratios
