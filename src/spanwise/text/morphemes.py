"""Korean morphemes: where stems, particles and endings begin inside an eojeol (a word between blanks).

The analyser is kiwipiepy (extra `ko`). It works while a vocabulary is learned and a corpus is tagged, and never after:
neither tokenizers nor models need it. Letters: k texts, n tokens of one text.
"""

import copy
import functools
import unicodedata
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from spanwise.errors import ConfigError
from spanwise.text.composition import compose
from spanwise.text.encoding import Encoding
from spanwise.text.tags import begins_at

QUICK_CUTOFF = 3.0
"""How far behind the best path another one may fall (in log likelihood) before it is dropped; Kiwi's own value is 8."""


class Morpheme(NamedTuple):
    """Characters `start` to `end` of a text, tagged by the Sejong set: NNP a name, SN digits, JKS a subject's 이/가.

    The characters of neighbours may overlap where they have grown together (했 is 하 + 었).
    """

    start: int
    end: int
    tag: str
    form: str = ""  # as a dictionary has it: 하 of 했다
    is_irregular: bool = False  # its last sound changes: 걷다, 걸은


class MorphemeAnalyser:
    """Finds where morphemes begin. One is made in two seconds and shared by all uses in a process."""

    def __init__(self) -> None:
        """Raises: ConfigError where kiwipiepy is not installed."""
        self._kiwi = _kiwi()
        self._quick = copy.copy(self._kiwi.global_config)
        self._quick.cutoff_threshold = QUICK_CUTOFF

    @property
    def source(self) -> str:
        """The analyser and its model, with their versions: what the borders depend on."""
        return f"kiwipiepy {version('kiwipiepy')}, model {version('kiwipiepy_model')}"

    def borders(self, texts: Sequence[str]) -> list[set[int]]:
        """Character positions at which a morpheme begins, for k texts, maybe typed in parts. All cores are used."""
        whole = [(text, None) if unicodedata.is_normalized("NFC", text) else compose(text) for text in texts]
        found = self._kiwi.tokenize([text for text, _ in whole])
        return [
            {token.start if places is None else int(places[token.start]) for token in tokens}
            for (_, places), tokens in zip(whole, found, strict=True)
        ]

    def morphemes(self, texts: Sequence[str]) -> list[list[Morpheme]]:
        """Return the morphemes of k texts in composed form (NFC), in order.

        The search keeps fewer paths than for `borders`: a fifth less time, and 1 morpheme in 200 is another.
        """
        found = self._kiwi.tokenize(list(texts), override_config=self._quick)
        return [
            [
                Morpheme(
                    token.start,
                    token.start + token.len,
                    (tag := token.tag)[:3].rstrip("-"),
                    token.form,
                    tag.endswith("-I"),
                )
                for token in tokens
            ]
            for tokens in found
        ]

    def joined(self, *parts: tuple[str, str]) -> str:
        """Return (form, tag) morphemes as one word, sounds contracted as they are spoken: 하 and ᆫ give 한."""
        return str(self._kiwi.join(parts))


class MorphemeTagger:
    """Tags each token with 1 where a morpheme begins at it, else 0; see `text/tags.py`."""

    name = "morphemes"

    def __init__(self) -> None:
        """Raises: ConfigError where kiwipiepy is not installed."""
        self._analyser = MorphemeAnalyser()
        self.source = self._analyser.source

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        borders = self._analyser.borders(texts)
        return [
            begins_at(text, encoding.offsets, found)
            for text, encoding, found in zip(texts, encodings, borders, strict=True)
        ]


@functools.cache
def _kiwi() -> Any:
    try:
        import kiwipiepy
    except ImportError as cause:
        raise ConfigError(
            "Korean morphemes are found by kiwipiepy, which is not installed: pip install 'spanwise[ko]'."
        ) from cause
    return kiwipiepy.Kiwi()
