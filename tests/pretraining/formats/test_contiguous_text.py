"""Contiguous text is the corpus cut every `max_length` tokens, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import sequences_of, visits_of

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import ContiguousText


def in_runs(stream: list[int], length: int) -> list[list[int]]:
    return [stream[first : first + length] for first in range(0, len(stream), length)]


@pytest.mark.parametrize("max_length", [2, 7, 64, 100_000])
@pytest.mark.parametrize("options", [{}, {"shard_bytes": 200}])
@pytest.mark.parametrize("document_end", ["nothing", "separator"])
def test_runs_are_the_corpus_in_order(max_length, options, document_end, documents, write_store):
    """Every token once, over documents and shards; all runs but the last have the full length."""
    store = write_store(documents, **options)
    part = ContiguousText(max_length=max_length, document_end=document_end)
    end = [store.vocabulary.sep_id] if document_end == "separator" else []
    stream = [int(token) for document in documents for token in [*np.concatenate(document), *end]]
    table = part.blocks(store)

    found = sequences_of(part, store, table)

    assert found == in_runs(stream, max_length)
    assert table.packed_lengths.tolist() == [len(run) for run in found]
    assert (visits_of(store, table) == 1).all()


@pytest.mark.parametrize(("documents", "expected"), [
    ([3, 1], [[5, 5, 5], [3, 5, 3]]),  # an end token begins a run
    ([2, 3], [[5, 5, 3], [5, 5, 5], [3]]),  # and is a run of its own at the very end
    ([1, 1, 1], [[5, 3, 5], [3, 5, 3]]),
    ([7], [[5, 5, 5], [5, 5, 5], [5, 3]]),
])  # fmt: skip
def test_end_tokens_count_as_tokens_of_their_run(documents, expected, write_store):
    store = write_store([[[5] * length] for length in documents])

    assert sequences_of(ContiguousText(max_length=3, document_end="separator"), store) == expected


def test_the_runs_of_a_pack_may_come_in_any_order(store):
    part = ContiguousText(max_length=9, document_end="separator")
    table = part.blocks(store)
    sequences = sequences_of(part, store, table)
    rows = [*np.flatnonzero(table.leads)[:3].tolist(), 0, 0]

    pack = part.assemble(store, table, np.array(rows))

    assert len(rows) == 5
    assert [ids.tolist() for ids in np.split(pack.input_ids, pack.borders[1:-1])] == [sequences[i] for i in rows]


def test_a_tokenizer_without_special_tokens_will_do(store):
    from dataclasses import replace

    bare = object.__new__(type(store))
    bare.__dict__.update(store.__dict__)
    bare.vocabulary = replace(store.vocabulary, cls_id=-1, sep_id=-1, pad_id=-1, mask_id=-1)
    part = ContiguousText(max_length=16)

    assert sequences_of(part, bare) == sequences_of(part, store)
    with pytest.raises(ConfigError, match="sep_token"):
        sequences_of(ContiguousText(max_length=16, document_end="separator"), bare)


def test_a_run_that_could_teach_nothing_is_refused():
    with pytest.raises(ConfigError, match="at least 2"):
        ContiguousText(max_length=1)
