"""A store gives back exactly what was written, however it is cut, and never anything else."""

import json
import random
import shutil
import threading
import tracemalloc
from pathlib import Path

import fsspec
import numpy as np
import pytest
import tokenizers

from spanwise.data import token_store
from spanwise.data.store_writer import TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.runtime.files import atomic_folder
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer


def flat(documents):
    return np.concatenate([sentence for document in documents for sentence in document])


def random_ranges(num_tokens, count=500):
    draw = np.random.default_rng(2)
    starts = draw.integers(0, num_tokens + 1, count)
    return starts, np.minimum(draw.integers(0, 400, count), num_tokens - starts)


def test_counts_lengths_and_borders_are_those_written(store, documents, tokenizer):
    lengths = [len(sentence) for document in documents for sentence in document]
    assert store.sentence_lengths.tolist() == lengths
    assert store.sentence_offsets.tolist() == [0, *np.cumsum(lengths)]
    assert store.document_borders.tolist() == [0, *np.cumsum([len(document) for document in documents])]
    assert (store.num_documents, store.num_sentences, store.num_tokens) == (40, len(lengths), sum(lengths))
    assert store.has_sentence_borders and store.tokenizer_sha256 == tokenizer.sha256


def test_gather_equals_slicing(store, documents):
    ids = flat(documents)
    starts, lengths = random_ranges(len(ids))
    expected = np.concatenate([ids[start : start + length] for start, length in zip(starts, lengths, strict=True)])
    found = store.gather(starts, lengths)
    assert found.dtype == np.int64 and np.array_equal(found, expected)
    assert store.gather(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).size == 0


@pytest.mark.parametrize("shard_bytes", [1, 37, 100, 300, 1000])
def test_any_number_of_shards_is_the_same_store(store, write_store, shard_bytes):
    cut = TokenStore.open(write_store(shard_bytes=shard_bytes))
    assert len(cut._shards) > 2
    for name in ("sentence_lengths", "sentence_offsets", "document_borders"):
        assert np.array_equal(getattr(cut, name), getattr(store, name)), name
    starts, lengths = random_ranges(store.num_tokens)
    assert np.array_equal(cut.gather(starts, lengths), store.gather(starts, lengths))
    assert np.array_equal(cut.gather(starts[:0], lengths[:0]), starts[:0])


def test_an_open_store_keeps_four_bytes_a_sentence(tokenizer, tmp_path):
    """Of a terabyte of text that is tens of gigabytes a process; the index files have 12 bytes a sentence."""
    num_sentences, folder = 100_000, tmp_path / "store"
    with TokenStoreWriter(folder, tokenizer, shard_bytes=50_000) as writer:
        writer.add_sentences(np.full(num_sentences, 7), np.ones(num_sentences, dtype=np.int64))
    TokenStore.open(folder)  # imports and caches

    tracemalloc.start()
    store = TokenStore.open(folder)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert store.num_sentences == num_sentences
    assert kept < 5 * num_sentences


def test_ranges_outside_are_refused(store, write_store):
    cut = TokenStore.open(write_store(shard_bytes=300))
    for each in (store, cut):
        for start, length in ((-1, 2), (0, each.num_tokens + 1), (each.num_tokens, 1), (3, -1), (2**62, 2**62)):
            with pytest.raises(IndexError, match="range 1 is"):
                each.gather(np.array([0, start]), np.array([1, length]))
        with pytest.raises(IndexError, match="two lists"):
            each.gather(np.array([0, 1]), np.array([1]))


@pytest.mark.parametrize("shard_bytes", [100, 1 << 20])
def test_side_arrays_are_cut_with_the_ids_they_belong_to(write_store, store, shard_bytes):
    tagged = TokenStore.open(write_store(shard_bytes=shard_bytes, side_arrays={"first": "one", "second-1": "two"}))
    starts, lengths = random_ranges(store.num_tokens)
    low = store.gather(starts, lengths).astype(np.uint8)
    assert tagged.side_arrays == {"first": "one", "second-1": "two"}
    for place, name in enumerate(tagged.side_arrays):
        found = tagged.gather_side(name, starts, lengths)
        assert found.dtype == np.uint8 and np.array_equal(found, low + np.uint8(place))
    assert np.array_equal(tagged.gather(starts, lengths), store.gather(starts, lengths))
    with pytest.raises(IndexError, match="range 1 is"):
        tagged.gather_side("first", np.array([0, -1]), np.array([1, 1]))


def test_a_side_array_that_is_not_there_is_refused_with_the_cure(store, write_store):
    with pytest.raises(DataError, match=r"no side array 'morphemes' \(it has none\).*`--tag morphemes`"):
        store.gather_side("morphemes", np.array([0]), np.array([1]))
    tagged = TokenStore.open(write_store(side_arrays={"first": "one"}))
    assert tagged.sha256 != store.sha256
    with pytest.raises(DataError, match=r"it has first"):
        tagged.gather_side("morphemes", np.array([0]), np.array([1]))


def test_threads_gather_the_same(write_store, monkeypatch, store):
    monkeypatch.setattr(token_store, "CHECKED_WHEN_OPENED_BYTES", 0)
    cut = TokenStore.open(write_store(shard_bytes=300))
    starts, lengths = random_ranges(store.num_tokens)
    expected, found = store.gather(starts, lengths), [None] * 4

    def work(number):
        found[number] = cut.gather(starts, lengths)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each, expected) for each in found)


def test_the_vocabulary_knows_specials_words_and_counts(store, tokenizer, documents):
    vocabulary = store.vocabulary
    assert vocabulary.size == tokenizer.vocab_size
    assert (vocabulary.pad_id, vocabulary.unk_id, vocabulary.mask_id) == (0, 1, 4)
    assert np.flatnonzero(vocabulary.is_special).tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(vocabulary.starts_word, tokenizer.starts_word_table())
    assert np.array_equal(vocabulary.unigram_counts, np.bincount(flat(documents), minlength=vocabulary.size))
    assert vocabulary.texts() == tokenizer.texts


def test_another_tokenizer_is_refused_and_both_are_told(store_folder, tokenizer, tmp_path):
    documents = [Document("here", 1, ["other text"] * 5)]
    other = learn_tokenizer(documents, vocab_size=400, kind="byte-bpe", cased=False, out=tmp_path / "other")
    assert TokenStore.open(store_folder, tokenizer).tokenizer().sha256 == tokenizer.sha256
    own = f"wordpiece of {tokenizer.vocab_size:,}, cased"
    given = f"byte-bpe of {other.vocab_size}, uncased"
    with pytest.raises(DataError, match=f"another tokenizer: {own}, and the one given is {given}. Use the one in"):
        TokenStore.open(store_folder, other)
    with pytest.raises(DataError, match=f"the one given in {tmp_path / 'other'} is {given}"):
        TokenStore.open(store_folder, Tokenizer.load(tmp_path / "other"))


def test_a_tokenizer_of_the_same_kind_and_size_is_told_by_a_few_digits(store_folder, tokenizer):
    backend = json.loads(tokenizer.copy_backend().to_str())
    backend["normalizer"]["handle_chinese_chars"] = not backend["normalizer"]["handle_chinese_chars"]
    other = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(backend)))
    with pytest.raises(DataError, match=f"hash {tokenizer.sha256[:8]}, .*hash {other.sha256[:8]}. ") as refused:
        TokenStore.open(store_folder, other)
    assert tokenizer.sha256[:9] not in str(refused.value)


def test_another_folder_of_ours_is_not_taken_for_a_damaged_store(tokenizer, tmp_path):
    with atomic_folder(tmp_path / "tokenizer") as folder:
        tokenizer.save(folder)
    with pytest.raises(DataError, match=r"is no token store: it holds .*tokenizer"):
        TokenStore.open(tmp_path / "tokenizer")


def test_the_hash_tells_equal_stores_from_different_ones(store, write_store, tokenizer, documents, tmp_path):
    assert TokenStore.open(write_store()).sha256 == store.sha256
    with TokenStoreWriter(tmp_path / "other", tokenizer) as writer:
        for document in [*documents[1:], documents[0]]:
            writer.add_document(document)
    assert TokenStore.open(tmp_path / "other").sha256 != store.sha256


@pytest.mark.parametrize("checked_when_opened", [1 << 28, 0])
def test_no_damage_is_silent_and_each_names_its_file(write_store, tmp_path, monkeypatch, checked_when_opened):
    monkeypatch.setattr(token_store, "CHECKED_WHEN_OPENED_BYTES", checked_when_opened)
    folder = write_store(shard_bytes=2_000, side_arrays={"tags": "a test"})
    draw = random.Random(3)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert {"00000.bin", "00001.bin", "00000.idx", "store.json", "manifest.json", "tokenizer/vocab.txt"} <= set(names)
    assert {"00000.tags.u8", "00001.tags.u8"} <= set(names)

    def read_all():
        store = TokenStore.open(folder)
        store.gather(np.zeros(1, np.int64), np.array([store.num_tokens]))
        store.gather_side("tags", np.zeros(1, np.int64), np.array([store.num_tokens]))

    read_all()
    for name in names:
        path = folder / name
        whole = path.read_bytes()
        for kind in ["flip"] * 12 + ["cut", "longer", "empty", "zeros", "swap", "gone"]:
            damaged = bytearray(whole)
            if kind == "flip":
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            elif kind == "cut":
                del damaged[draw.randrange(1, len(damaged)) :]
            elif kind == "longer":
                damaged += b"\x00"
            elif kind == "zeros":
                at = draw.randrange(len(damaged) - 9)
                damaged[at : at + 8] = bytes(8) if damaged[at : at + 8] != bytes(8) else b"\x01" * 8
            elif kind == "swap":
                half = len(damaged) // 2
                damaged[:half], damaged[half : 2 * half] = damaged[half : 2 * half], damaged[:half]
            else:
                damaged = bytearray()
            path.write_bytes(damaged)
            if kind == "gone":
                path.unlink()
            with pytest.raises(DataError) as caught:
                read_all()
            assert name in str(caught.value), (kind, str(caught.value))
        path.write_bytes(whole)
    read_all()


def test_large_stores_are_checked_on_first_touch_and_by_verify(write_store, tmp_path, monkeypatch):
    monkeypatch.setattr(token_store, "CHECKED_WHEN_OPENED_BYTES", 0)
    folder = write_store(shard_bytes=2_000)
    path = folder / "00001.bin"
    content = bytearray(path.read_bytes())
    content[5] ^= 4
    path.write_bytes(content)
    store = TokenStore.open(folder)
    store.gather(np.array([0]), np.array([900]))
    with pytest.raises(DataError, match=r"00001\.bin is damaged"):
        store.gather(np.array([0]), np.array([store.num_tokens]))
    with pytest.raises(DataError, match=r"00001\.bin is damaged"):
        store.verify()


def foreign(folder, store_folder):
    folder.mkdir()
    for path in store_folder.glob("0*"):
        shutil.copy(path, folder / path.name)
    return folder


def test_a_foreign_store_opens_with_a_tokenizer_as_folder_prefix_or_file(store, store_folder, tokenizer, tmp_path):
    folder = foreign(tmp_path / "theirs", store_folder)
    starts, lengths = random_ranges(store.num_tokens)
    for given in (folder, folder / "00000", folder / "00000.idx", str(folder / "00000.bin")):
        opened = TokenStore.open(given, tokenizer=tokenizer)
        assert np.array_equal(opened.gather(starts, lengths), store.gather(starts, lengths))
        assert np.array_equal(opened.vocabulary.unigram_counts, store.vocabulary.unigram_counts)
        assert np.array_equal(opened.document_borders, store.document_borders)
    with pytest.raises(DataError, match="holds no tokenizer"):
        opened.tokenizer()


def test_a_foreign_store_needs_a_tokenizer_that_fits(store_folder, tmp_path):
    folder = foreign(tmp_path / "theirs", store_folder)
    with pytest.raises(DataError, match="name the tokenizer that made its ids"):
        TokenStore.open(folder)
    small = learn_tokenizer([Document("here", 1, ["a b c"] * 5)], vocab_size=64)
    with pytest.raises(DataError, match="made with another tokenizer"):
        TokenStore.open(folder, tokenizer=small)
    with pytest.raises(DataError, match="is no token store"):
        TokenStore.open(tmp_path / "gone", tokenizer=small)


def test_a_store_of_whole_documents_says_so(tokenizer, tmp_path):
    with TokenStoreWriter(tmp_path / "store", tokenizer) as writer:
        writer.add_document([[5, 6, 7]])
        writer.add_document([[8]])
    assert not TokenStore.open(tmp_path / "store").has_sentence_borders


def test_a_store_that_lies_elsewhere_is_read_from_a_copy_here(store_folder, store, tmp_path, monkeypatch):
    monkeypatch.setenv("SPANWISE_CACHE", str(tmp_path / "cache"))
    fsspec.filesystem("memory").put(f"{store_folder}/", "memory://token-store", recursive=True)
    for name in ("memory://token-store", Path("memory://token-store")):
        copy = TokenStore.open(name)
        assert copy.sha256 == store.sha256 and copy.path.parent == tmp_path / "cache"
        assert np.array_equal(
            copy.gather(*random_ranges(store.num_tokens)), store.gather(*random_ranges(store.num_tokens))
        )
    with pytest.raises(DataError, match=r"memory://token-store/none/manifest.json does not exist"):
        TokenStore.open("memory://token-store/none")
