"""What is written is what the public layout says, whole or not at all, and the same every time."""

import json
import os
import struct
from itertools import pairwise

import numpy as np
import pytest

from spanwise.data.store_writer import TokenStoreWriter
from spanwise.errors import ConfigError, DataError
from spanwise.text.tokenizers import Tokenizer


def read_megatron(prefix):
    """An independent reader: sentences and documents of one shard, by struct alone."""
    index = (prefix.parent / f"{prefix.name}.idx").read_bytes()
    ids = (prefix.parent / f"{prefix.name}.bin").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, count, borders = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1 and code == 8
    lengths = struct.unpack_from(f"<{count}i", index, 34)
    pointers = struct.unpack_from(f"<{count}q", index, 34 + 4 * count)
    documents = struct.unpack_from(f"<{borders}q", index, 34 + 12 * count)
    assert 34 + 12 * count + 8 * borders == len(index)
    sentences = [list(struct.unpack_from(f"<{n}H", ids, at)) for n, at in zip(lengths, pointers, strict=True)]
    return [sentences[a:b] for a, b in pairwise(documents)]


def as_lists(documents):
    return [[sentence.tolist() for sentence in document] for document in documents]


def test_another_reader_finds_the_same_sentences_and_documents(store_folder, documents):
    assert read_megatron(store_folder / "00000") == as_lists(documents)


def test_shards_hold_the_same_sentences_in_order(write_store, documents):
    folder = write_store(shard_bytes=300)
    shards = sorted(folder.glob("*.bin"))
    assert len(shards) > 5 and max(path.stat().st_size for path in shards) < 300 + 2 * 30
    found = [sentence for path in shards for document in read_megatron(path.with_suffix("")) for sentence in document]
    assert found == [sentence for document in as_lists(documents) for sentence in document]


@pytest.mark.parametrize("shard_bytes", [1, 100, 1 << 20])
def test_documents_given_together_are_stored_as_one_by_one(write_store, tokenizer, documents, tmp_path, shard_bytes):
    one_by_one = write_store(shard_bytes=shard_bytes)
    sentences = [sentence for document in documents for sentence in (*document, np.empty(0, np.int64))]
    counts = np.cumsum([len(document) + 1 for document in documents])
    lengths = np.array([len(sentence) for sentence in sentences])
    with TokenStoreWriter(tmp_path / "store", tokenizer, shard_bytes=shard_bytes) as writer:
        for first, last in ((0, 7), (7, 40), (40, len(sentences))):
            here = np.concatenate(sentences[first:last])
            ends = counts[(counts > first) & (counts <= last)] - first
            writer.add_sentences(here, lengths[first:last], ends=ends)
        writer.add_sentences(np.empty(0, np.int64), np.zeros(2, np.int64), ends=np.array([0, 1, 2]))
    assert writer.num_documents == 40
    assert (tmp_path / "store" / "manifest.json").read_bytes() == (one_by_one / "manifest.json").read_bytes()


def test_large_vocabularies_are_written_in_four_bytes(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.data.megatron._LARGEST_UINT16_VOCABULARY", 10)
    with TokenStoreWriter(tmp_path / "store", tokenizer) as writer:
        writer.add_document([[5, 6], [7]])
    assert (tmp_path / "store" / "00000.bin").read_bytes() == struct.pack("<3i", 5, 6, 7)


def test_counts_are_those_of_the_ids(store_folder, documents, tokenizer):
    record = json.loads((store_folder / "store.json").read_text())
    flat = np.concatenate([sentence for document in documents for sentence in document])
    assert record["num_tokens"] == len(flat) and record["num_documents"] == 40
    assert record["vocabulary"]["unigram_counts"] == np.bincount(flat, minlength=tokenizer.vocab_size).tolist()
    assert record["tokenizer_sha256"] == tokenizer.sha256


def test_the_store_carries_its_tokenizer(store_folder, tokenizer):
    assert Tokenizer.load(store_folder / "tokenizer").sha256 == tokenizer.sha256


def test_the_same_text_gives_the_same_bytes(store_folder, write_store):
    again = write_store()
    for path in store_folder.rglob("*.*"):
        if path.is_file():
            assert (again / path.relative_to(store_folder)).read_bytes() == path.read_bytes()


def test_a_failure_or_an_empty_store_leaves_nothing(tokenizer, tmp_path):
    with pytest.raises(KeyError), TokenStoreWriter(tmp_path / "store", tokenizer) as writer:
        writer.add_document([[5]])
        raise KeyError
    with (
        pytest.raises(DataError, match="nothing to store"),
        TokenStoreWriter(tmp_path / "store", tokenizer) as writer,
    ):
        writer.add_document([[], []])
    assert os.listdir(tmp_path) == []


def test_empty_sentences_and_documents_are_left_out(tokenizer, tmp_path):
    writer = TokenStoreWriter(tmp_path / "store", tokenizer)
    for document in ([], [[]], [[5], [], [6]], [[]], [[7]]):
        writer.add_document(document)
    writer.end_document()
    writer.close()
    assert read_megatron(tmp_path / "store" / "00000") == [[[5], [6]], [[7]]]


def test_ids_outside_the_vocabulary_are_refused(tokenizer, tmp_path):
    writer = TokenStoreWriter(tmp_path / "store", tokenizer)
    for wrong in (-1, tokenizer.vocab_size):
        with pytest.raises(DataError, match=f"id {wrong} is outside"):
            writer.add_document([[5], [wrong]])
    with pytest.raises(DataError, match="3 ids were given for sentences of 2"):
        writer.add_sentences(np.array([5, 5, 5]), np.array([2]))


def test_an_existing_folder_is_refused(tokenizer, tmp_path):
    with pytest.raises(ConfigError, match="exists already"):
        TokenStoreWriter(tmp_path, tokenizer)
    with pytest.raises(ConfigError, match="shard_bytes=0"):
        TokenStoreWriter(tmp_path / "store", tokenizer, shard_bytes=0)


def test_a_store_without_side_arrays_says_nothing_of_them(store_folder):
    record = json.loads((store_folder / "store.json").read_text())
    assert "side_arrays" not in record and "side" not in record["shards"][0]


def test_side_arrays_are_one_byte_a_token_for_all_of_the_names_and_no_other(tokenizer, tmp_path):
    writer = TokenStoreWriter(tmp_path / "store", tokenizer, side_arrays={"tags": "a test"})
    for side in (None, {}, {"tags": [1, 2]}, {"tags": [1, 2, 3], "more": [1, 2, 3]}, {"other": [1, 2, 3]}):
        with pytest.raises(DataError, match=r"this store takes: tags \[3\]"):
            writer.add_document([[5, 6], [7]], side)
    writer.add_document([[5, 6], [], [7]], {"tags": [1, 0, 255]})
    writer.close()
    assert (tmp_path / "store" / "00000.tags.u8").read_bytes() == bytes([1, 0, 255])
    with pytest.raises(ConfigError, match=r"side array '\.\./x'"):
        TokenStoreWriter(tmp_path / "other", tokenizer, side_arrays={"../x": ""})
