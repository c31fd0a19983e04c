"""Which pieces of a vocabulary a recurring span may hold, and which of them say nothing alone.

A span of nothing but stop words (`of the`) is not worth a question. Which words these are is counted in the text of the
store, so it holds for any language; for English there is a list too.

Source: Ram et al. 2021 (Splinter), section 3.1, and the released code: pieces are alphanumeric, and one of them at
least is outside a list of 120 English stop words.
Differs: the English list is our own, as the released one has no licence. Marks that belong to letters (of Hindi, of
Thai) count as letters.

Letters: V vocabulary.
"""

import unicodedata
from collections.abc import Sequence
from typing import Literal

import numpy as np

from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.clusters import BREAKS, STOPS, TELLS

StopWords = Literal["counted", "english"]

_ENGLISH = """
a an the
i me my mine you your yours he him his she her hers it its we us our ours they them their theirs
myself yourself himself herself itself ourselves themselves one
this that these those who whom whose which what when where why how there here
and or nor but so yet if then than as because while although though since until unless whether
of in on at by to from for with without within into onto upon over under above below between among through
during before after against about around across along near off out up down per via
am is are was were be been being have has had having do does did done doing
can could may might must shall should will would
not no all any both each every either neither some such same other another more most much many few several own
only also just even still again once very too ever never now
"""
ENGLISH = frozenset(_ENGLISH.split())
"""The closed classes of English (articles, pronouns, prepositions, conjunctions, auxiliaries, the commonest adverbs),
written down for this project."""


def kinds_of_pieces(vocabulary: Vocabulary, stop_words: StopWords, frequent_share: float) -> np.ndarray:
    """Return what each id is to a cluster, uint8 [V]: `BREAKS`, `STOPS` or `TELLS` of masking/clusters.py.

    "counted": pieces that make up more than `frequent_share` of the store's tokens stop, upper and lower case counted
    together; "english": those of the list. Raises: ConfigError for the list where the texts of pieces are not known.
    """
    kinds_V = np.full(vocabulary.size, TELLS, dtype=np.uint8)
    texts = [text.lower() for text in vocabulary.texts()]
    if stop_words == "english":
        if not texts:
            raise ConfigError("masking.stop_words 'english' needs the texts of pieces, which this vocabulary lacks.")
        kinds_V[[number for number, text in enumerate(texts) if text in ENGLISH]] = STOPS
    else:
        kinds_V[_in_any_case(vocabulary, texts) > frequent_share * vocabulary.unigram_counts.sum()] = STOPS
    kinds_V[[number for number, text in enumerate(texts) if not _is_alphanumeric(text)]] = BREAKS
    kinds_V[vocabulary.is_special] = BREAKS
    if vocabulary.unk_id >= 0:
        kinds_V[vocabulary.unk_id] = BREAKS  # it may stand for anything
    return kinds_V


def _in_any_case(vocabulary: Vocabulary, texts: Sequence[str]) -> np.ndarray:
    """Return how often each piece stands in the store in any case, [V]; without texts in its own. Of several stores
    these are shares below 1, so they are not made whole."""
    if not texts:
        return vocabulary.unigram_counts
    pieces = list(zip(texts, vocabulary.starts_word.tolist(), strict=True))  # `##an` is not `an`
    total = dict.fromkeys(pieces, 0)
    for piece, count in zip(pieces, vocabulary.unigram_counts.tolist(), strict=True):
        total[piece] += count
    return np.array([total[piece] if piece[0] else 0 for piece in pieces])


def _is_alphanumeric(text: str) -> bool:
    """Return whether every character is a letter, a digit or a mark of one; a part of a character, without text, is."""
    return all(character.isalnum() or unicodedata.category(character).startswith("M") for character in text)
