"""Parts of a corpus become the store that one call makes of the whole, byte for byte."""

import shutil

import pytest

from spanwise.data import merge
from spanwise.data.merge import merge_stores
from spanwise.data.prepare import prepare
from spanwise.data.store_writer import NothingToStoreError
from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.runtime.files import atomic_folder, read_manifest
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tags import Tagger

SENTENCES = ["Denver is the capital of Colorado.", "Is it so?", "No!", "한국어 문장은 짧다.", "The US Mint is there."]


def some_documents(count: int) -> list[Document]:
    return [Document("here", n, [SENTENCES[(n * k) % 5] for k in range(1, 2 + n % 4)]) for n in range(count)]


class Lengths(Tagger):
    name, source = "lengths", "a test"

    def tag(self, texts, encodings):
        return [(encoding.offsets[:, 1] - encoding.offsets[:, 0]).astype("uint8") for encoding in encodings]


@pytest.mark.parametrize("taggers", [[], [Lengths()]], ids=["plain", "tagged"])
@pytest.mark.parametrize("cuts", [[0, 30], [0, 1, 17, 30], list(range(31))])
def test_the_store_is_the_same_wherever_the_text_was_cut(tokenizer, tmp_path, monkeypatch, cuts, taggers):
    documents = some_documents(30)
    prepare(documents, tokenizer, tmp_path / "whole", taggers=taggers, shard_bytes=100)
    parts = [tmp_path / f"part-{start}" for start in cuts[:-1]]
    for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
        prepare(documents[start:end], tokenizer, part, taggers=taggers)
    monkeypatch.setattr(merge, "CHUNK_TOKENS", 25)
    num_tokens = merge_stores(parts, tmp_path / "merged", shard_bytes=100)
    assert read_manifest(tmp_path / "merged") == read_manifest(tmp_path / "whole")
    store = TokenStore.open(tmp_path / "merged")
    assert store.num_documents == 30 and store.num_tokens == num_tokens and len(list(store.path.glob("*.bin"))) > 3


def test_a_part_without_text_adds_nothing_and_parts_without_any_are_refused(tokenizer, tmp_path):
    prepare(some_documents(3), tokenizer, tmp_path / "full")
    with atomic_folder(tmp_path / "empty"):
        pass
    merge_stores([tmp_path / "empty", tmp_path / "full", tmp_path / "empty"], tmp_path / "merged")
    assert read_manifest(tmp_path / "merged") == read_manifest(tmp_path / "full")
    with pytest.raises(NothingToStoreError, match="None of 1 parts"):
        merge_stores([tmp_path / "empty"], tmp_path / "nothing")


def test_a_missing_a_damaged_or_a_foreign_part_is_refused_and_leaves_nothing(tokenizer, tmp_path):
    prepare(some_documents(3), tokenizer, tmp_path / "a")
    prepare(some_documents(3), learn_tokenizer(some_documents(20), vocab_size=90), tmp_path / "b")
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    (tmp_path / "c" / "00000.bin").write_bytes(bytes((tmp_path / "a" / "00000.bin").stat().st_size))
    for part, said in (("b", "another tokenizer"), ("c", "damaged"), ("d", "never finished")):
        with pytest.raises(DataError, match=said):
            merge_stores([tmp_path / "a", tmp_path / part], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
