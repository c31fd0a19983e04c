"""Text in, store out: every token once, in order, in memory that does not grow."""

import gzip
import os
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from spanwise.data import prepare as prepare_module
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.text import corpus
from spanwise.text.corpus import CorpusOptions, Document, read_documents
from spanwise.text.kinds.byte_bpe import byte_bpe_backend
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

TEXT = "Denver is the capital. It is so.\n한국어 문장은 짧다.\n\nIs the Mint there? No, it is not!"


def stored(folder):
    store = TokenStore.open(folder)
    ids = store.gather(store.sentence_offsets[:-1], store.sentence_lengths)
    return np.split(ids, store.sentence_offsets[1:-1]), store


def test_each_sentence_of_the_text_is_one_sentence_of_the_store(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    report = prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")
    sentences, store = stored(tmp_path / "store")
    expected = [sentence for document in read_documents(tmp_path / "a.txt") for sentence in document.sentences]
    assert [ids.tolist() for ids in sentences] == [tokenizer.encode(text).ids.tolist() for text in expected]
    assert store.document_borders.tolist() == [0, 3, 5]
    assert (report.num_documents, report.num_sentences, report.num_tokens) == (2, 5, store.num_tokens)
    assert report.num_bytes == 2 * store.num_tokens and report.tokens_per_second > 0
    assert report.unknown_share == store.vocabulary.unigram_counts[1] / store.num_tokens


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\ufeff\r\n")), max_size=12), st.integers(1, 300)
)
def test_every_token_of_every_line_is_stored_in_order(tokenizer, tmp_path_factory, lines, batch):
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_bytes("\n".join(lines).encode())
    options = CorpusOptions(lines="sentences", unicode_form="as_is")
    expected = [ids for line in lines if len(ids := tokenizer.encode(line.strip()).ids)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare_module, "BATCH_CHARACTERS", batch)
        patch.setattr(corpus, "MAX_DOCUMENT_CHARACTERS", batch)
        if not expected:
            with pytest.raises(DataError):
                prepare(folder / "a.txt", tokenizer, folder / "store", options)
            return
        prepare(folder / "a.txt", tokenizer, folder / "store", options, shard_bytes=batch)
    sentences, store = stored(folder / "store")
    assert [ids.tolist() for ids in sentences] == [ids.tolist() for ids in expected]
    ends = {document.line for document in read_documents(folder / "a.txt", options) if document.ends}
    assert store.num_documents <= len(ends)


def test_a_document_in_parts_is_one_document(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "MAX_DOCUMENT_CHARACTERS", 100)
    monkeypatch.setattr(prepare_module, "BATCH_CHARACTERS", 150)
    (tmp_path / "a.txt").write_text("Denver is so.\n" * 100 + "\nNo!\n")
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store", shard_bytes=64)
    assert TokenStore.open(tmp_path / "store").document_borders.tolist() == [0, 100, 101]


def test_the_report_counts_every_batch(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare_module, "BATCH_CHARACTERS", 20)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    report = prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")
    assert report.num_tokens == TokenStore.open(tmp_path / "store").num_tokens
    assert report.num_characters == sum(len(s) for d in read_documents(tmp_path / "a.txt") for s in d.sentences)


def test_memory_does_not_grow_with_the_corpus(tokenizer, tmp_path):
    draw = np.random.default_rng(0)

    def peak(documents: int) -> int:
        path = tmp_path / f"{documents}.txt.gz"
        with gzip.open(path, "wt") as file:
            for _ in range(documents):
                words = draw.integers(0, 10**9, 2_000)
                file.write(" ".join(f"{word:x}" for word in words) + ".\n\n")
        tracemalloc.start()
        prepare(path, tokenizer, tmp_path / f"store{documents}", shard_bytes=1 << 16)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare_module, "BATCH_CHARACTERS", 1 << 16)
        patch.setattr("spanwise.data.cached_encoder.LARGEST_CACHE_WORDS", 4_000)
        small, large = peak(12), peak(48)
    assert large < 1.15 * small + 300_000


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\x07\n", b"good\n\xff\n"])
def test_text_that_cannot_be_used_leaves_nothing_behind(tokenizer, tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError):
        prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_existing_store_is_refused(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text("Denver.")
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")
    with pytest.raises(ConfigError, match="exists already"):
        prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")


def test_a_ten_megabyte_line_is_stored_whole(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Denver is so " * (10_000_000 // 13))
    report = prepare(tmp_path / "a.txt", tokenizer, tmp_path / "store")
    assert report.num_documents == 1
    assert report.num_tokens == len(tokenizer.encode("Denver is so").ids) * (10_000_000 // 13)


@pytest.mark.slow
def test_real_text_prepares_within_bounds(tmp_path, data_folder):
    tokenizer = learn_tokenizer(data_folder / "text/en/wiki-tiny.txt.gz", vocab_size=8_000)
    report = prepare(data_folder / "text/en/wiki-base-00.txt.xz", tokenizer, tmp_path / "store")
    assert report.num_tokens > 5_000_000 and report.unknown_share < 0.01


class LengthTagger:
    """Tags each token with the number of its characters."""

    name = "lengths"
    source = "a test"

    def tag(self, texts, encodings):
        return [np.diff(encoding.offsets, axis=1).reshape(-1).astype(np.uint8) for encoding in encodings]


def test_tags_lie_beside_their_tokens_and_the_ids_are_the_same(tokenizer, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT + "\n\n \n", encoding="utf-8")
    prepare(path, tokenizer, tmp_path / "plain")
    prepare(path, tokenizer, tmp_path / "tagged", taggers=[LengthTagger()], shard_bytes=20)
    plain, tagged = TokenStore.open(tmp_path / "plain"), TokenStore.open(tmp_path / "tagged")
    everything = np.zeros(1, np.int64), np.array([plain.num_tokens])
    ids = plain.gather(*everything)
    assert np.array_equal(tagged.gather(*everything), ids)
    assert np.array_equal(tagged.document_borders, plain.document_borders)
    expected = [len(piece.removeprefix("##")) for piece in tokenizer.tokens(ids)]
    assert tagged.gather_side("lengths", *everything).tolist() == expected
    assert tagged.side_arrays == {"lengths": "a test"}


def test_an_iterator_is_asked_in_the_callers_thread_unless_reading_ahead_is_allowed(tokenizer, tmp_path):
    threads = []

    def documents():
        for number in (1, 2):
            threads.append(threading.current_thread())
            yield Document("here", number, ["Denver won."])

    prepare(documents(), tokenizer, tmp_path / "here")
    prepare(documents(), tokenizer, tmp_path / "ahead", read_ahead=True)
    assert threads[1] is threading.current_thread() is not threads[3]


def test_two_taggers_of_one_name_are_refused(tokenizer, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.raises(ConfigError, match="two taggers fill one side array: lengths, lengths"):
        prepare(path, tokenizer, tmp_path / "store", taggers=[LengthTagger(), LengthTagger()])


def test_a_sentence_that_follows_another_keeps_its_blank_where_the_tokenizer_tells_words_by_it(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("Denver won. It is so. Denver lost.\n\nDenver won. Is it?\n", encoding="utf-8")
    words = learn_tokenizer(path, vocab_size=300, kind="byte-bpe")
    monkeypatch.setattr(prepare_module, "BATCH_CHARACTERS", 20)
    prepare(path, words, tmp_path / "store")
    store = TokenStore.open(tmp_path / "store")
    ids = store.gather(np.zeros(1, np.int64), np.array([store.num_tokens]))
    assert words.decode(ids) == "Denver won. It is so. Denver lost.Denver won. Is it?"
    assert np.array_equal(store.vocabulary.ends_word, words.ends_word_table()) and store.vocabulary.ends_word.any()
    prepare(path, learn_tokenizer(path, vocab_size=80), tmp_path / "plain")
    assert not TokenStore.open(tmp_path / "plain").vocabulary.ends_word.any()


def test_a_tokenizer_without_an_unknown_token_has_no_unknown_share(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Denver won.", encoding="utf-8")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(byte_bpe_backend({piece: number for number, piece in enumerate(alphabet)}, []))
    assert bare.unk_id == -1 and prepare(path, bare, tmp_path / "store").unknown_share == 0.0
