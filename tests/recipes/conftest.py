import pytest

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.text.learn import learn_tokenizer

TEXT = """the old river ran past a stone bridge and into the quiet town where people sold bread fish and cloth
every morning before the bells of the tall church rang over the market square in winter and in summer"""
WORDS = TEXT.split()


def sentences(seed: int, count: int) -> list[str]:
    """Sentences from a small grammar of its own: word i follows from a linear congruence, so no library draws."""
    made, state = [], seed
    for _ in range(count):
        words = []
        for _ in range(8 + state % 9):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(WORDS[(state >> 8) % len(WORDS)])
        made.append(" ".join(words).capitalize() + ".")
    return made


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory) -> TokenStore:
    folder = tmp_path_factory.mktemp("store")
    lines = sentences(1, 400)
    text = "\n\n".join(" ".join(lines[i : i + 8]) for i in range(0, 400, 8))
    (folder / "text.txt").write_text(text, encoding="utf-8")
    tokenizer = learn_tokenizer(folder / "text.txt", vocab_size=300)
    prepare(folder / "text.txt", tokenizer, folder / "store")
    return TokenStore.open(folder / "store")
