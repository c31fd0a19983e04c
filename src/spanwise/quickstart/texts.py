"""Every word of the quickstart's page, by language: a table in `words/` each, with the same keys (a test checks it)."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "ko"]


class Words(dict[str, str]):
    """The words of one language; called with a key and values, it fills the places of a sentence."""

    def __call__(self, key: str, **values: object) -> str:
        return self[key].format(**values)


@cache
def words_of(language: Language) -> Words:
    """Read the words of a language."""
    table = files("spanwise.quickstart").joinpath("words", f"{language}.toml")
    return Words(tomllib.loads(table.read_text(encoding="utf-8")))
