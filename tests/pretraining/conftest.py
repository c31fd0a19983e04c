"""A vocabulary without strings, a small real store, and the folder's toy packs on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from spanwise.data.store_writer import TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """200 ids: 5 specials, 95 word starts, 100 continuation pieces; counts fall like 1 / rank."""
    ids = np.arange(200)
    return Vocabulary(
        size=200,
        pad_id=0,
        unk_id=1,
        cls_id=2,
        sep_id=3,
        mask_id=4,
        is_special=ids < 5,
        starts_word=(ids >= 5) & (ids < 100),
        unigram_counts=100_000 // (1 + ids),
    )


@pytest.fixture(scope="session")
def tokenizer():
    sentences = ["Denver is the capital of Colorado, and the US Mint is there.", "Is it so? No! The capitals, theirs."]
    return learn_tokenizer([Document("here", 1, sentences * 5)], vocab_size=120)


@pytest.fixture(scope="session")
def write_store(tokenizer, tmp_path_factory):
    """A function that writes documents (lists of sentences of ids) to a real store and opens it."""

    def write(documents, **options) -> TokenStore:
        folder = tmp_path_factory.mktemp("stores") / "store"
        with TokenStoreWriter(folder, tokenizer, **options) as writer:
            for document in documents:
                writer.add_document([np.asarray(sentence) for sentence in document])
        return TokenStore.open(folder)

    return write


@pytest.fixture(scope="session")
def documents(tokenizer) -> list[list[np.ndarray]]:
    """60 documents of 1 to 8 sentences of 1 to 40 ids."""
    draw = np.random.default_rng(1)
    return [
        [draw.integers(5, tokenizer.vocab_size, draw.integers(1, 41)) for _ in range(draw.integers(1, 9))]
        for _ in range(60)
    ]


@pytest.fixture(scope="session")
def many_documents(write_store) -> TokenStore:
    """2,000 documents of 1 to 12 sentences of 3 to 19 ids, enough for shares to show."""
    draw = np.random.default_rng(2)
    counts = draw.integers(1, 13, 2_000)
    lengths = draw.integers(3, 20, counts.sum())
    ids = draw.integers(5, 90, lengths.sum())
    sentences = iter(np.split(ids, np.cumsum(lengths)[:-1]))
    return write_store([[next(sentences) for _ in range(count)] for count in counts])


@pytest.fixture(scope="session")
def store(write_store, documents) -> TokenStore:
    return write_store(documents)
