"""Documents encoded segment by segment, whatever shares their packs."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from spanwise.tasks.coref.documents import CoreferenceData, TextDocument
from spanwise.tasks.coref.encode import document_states
from spanwise.tasks.coref.reader import read_coreference


@pytest.fixture(scope="module")
def features(stories, tokenizer, small_task, small_encoder):
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


def test_states_are_those_of_each_document_alone_bit_for_bit(features, encode):
    alone = []
    for row in range(len(features)):
        kept = [getattr(features, name)[row : row + 1] for name in ("documents", "borders", "shown_W2", "genre_W")]
        names = ("documents", "borders", "shown_W2", "genre_W")
        one = dataclasses.replace(features, **dict(zip(names, kept, strict=True)))
        alone += [states.pop() for states in document_states(encode, one, 64)]
    for budget in (64, 100, 10_000):
        found = [states.pop() for states in document_states(encode, features, budget)]
        assert len(found) == len(features)
        for a, b, document in zip(found, alone, features.documents, strict=True):
            assert len(a) == len(document) and torch.equal(a, b)


def test_a_pack_is_never_larger_than_asked_for(features, encode):
    sizes = []

    def counting(batch):
        sizes.append(len(batch.input_ids))
        return encode(batch)

    for states in document_states(counting, features, 70):
        states.pop()
    assert max(sizes) <= 70 and len(sizes) > 3


def test_whoever_takes_the_states_has_the_only_reference(features, encode):
    for states in document_states(encode, features, 64):
        taken = states.pop()
        assert sys.getrefcount(taken) == 2 and states == []


def memory(*options):
    """The row that benchmarks/coreference.py gives of the memory of a long document against a short one."""
    program = Path(__file__).parents[3] / "benchmarks" / "coreference.py"
    command = [sys.executable, str(program), "--memory", "--json", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=True)
    (row,) = json.loads(done.stdout)
    return row


def test_a_document_five_times_as_long_takes_less_than_twice_the_memory():
    row = memory("--words", 500, 2500, "--sizes", "1x64", "--ffn", 2000)
    assert row["ours"] <= 2 * row["peer"] < 100  # the hidden layers of all its candidates alone would be 250 MiB


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2])
def test_a_document_ten_times_as_long_takes_less_than_twice_the_memory(depth):
    row = memory("--words", 2_000, 20_000, "--depth", depth)
    assert row["ratio"] <= 2
