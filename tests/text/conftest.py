"""A small text and the vocabulary learned from it."""

import pytest

from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer

SENTENCES = [
    "The US team told us that Denver won 24 games in 2015.",
    "Denver is the capital of Colorado, and the US Mint has stood there since 1863.",
    "Does the team of Denver play in the MASK league? No, it does not!",
    "한국어 문장은 짧다. 한국어 문장을 읽는다.",
]


@pytest.fixture(scope="session")
def tokenizer():
    documents = [Document("here", 1, SENTENCES * 5)]
    return learn_tokenizer(documents, vocab_size=300)
