"""A small vocabulary, and a store of random documents made with it."""

import numpy as np
import pytest

from spanwise.data.store_writer import TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer

SENTENCES = ["Denver is the capital of Colorado, and the US Mint is there.", "한국어 문장은 짧다.", "Is it so? No!"]


@pytest.fixture(scope="session")
def tokenizer():
    return learn_tokenizer([Document("here", 1, SENTENCES * 5)], vocab_size=120)


@pytest.fixture(scope="session")
def documents(tokenizer) -> list[list[np.ndarray]]:
    """40 documents of 1 to 6 sentences of 1 to 30 ids."""
    draw = np.random.default_rng(1)
    return [
        [draw.integers(5, tokenizer.vocab_size, draw.integers(1, 31)) for _ in range(draw.integers(1, 7))]
        for _ in range(40)
    ]


@pytest.fixture(scope="session")
def write_store(tokenizer, documents, tmp_path_factory):
    """A function that writes the documents with given shard sizes and gives the folder.

    With `side_arrays`, the values of each are the low bytes of the ids plus the array's place in the list.
    """

    def write(**options):
        folder = tmp_path_factory.mktemp("stores") / "store"
        with TokenStoreWriter(folder, tokenizer, **options) as writer:
            for document in documents:
                low = np.concatenate(document).astype(np.uint8)
                side = {name: low + np.uint8(place) for place, name in enumerate(options.get("side_arrays", ()))}
                writer.add_document(document, side)
        return folder

    return write


@pytest.fixture(scope="session")
def store_folder(write_store):
    return write_store()


@pytest.fixture(scope="session")
def store(store_folder):
    return TokenStore.open(store_folder)
