"""One small tokenizer of each kind, learned from the same English and Korean text."""

import warnings

import pytest

from spanwise.text.corpus import Document
from spanwise.text.learn import KINDS, learn_tokenizer

WORDS = [f"{first}{middle}{last}" for first in "BKTbkt" for middle in ("ana", "olo", "iri") for last in "nrs"]
ENGLISH = [
    f'The {one} of {two}\'s ({one}{two}) won 24-{len(two)}, said: "Is it so?"' for one in WORDS for two in WORDS[::9]
]
KOREAN = ["한국어 문장은 짧다, 大韓民國의 학교에서는 길다!", "나는 ㅋㅋㅋ 웃었다. 학교를 갔다; ＡＢ café 中文字"]
SIZE = 700


@pytest.fixture(scope="session")
def documents():
    return [Document("here", 1, [*ENGLISH, *KOREAN * 40])]


@pytest.fixture(scope="session")
def learned(documents):
    """A function that gives the tokenizer of a kind and a Unicode form, learned once."""
    known = {}

    def learn(kind, form="NFC"):
        if (kind, form) not in known:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The text is Korean")  # GPT-1 and ALBERT as they are take it apart
                known[kind, form] = learn_tokenizer(documents, vocab_size=SIZE, kind=kind, unicode_form=form)
        return known[kind, form]

    return learn


@pytest.fixture(scope="session", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def tokenizer(kind, learned):
    """A tokenizer of each kind that composes characters (Unicode NFC)."""
    return learned(kind)
