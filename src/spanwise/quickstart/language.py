"""Find out from its beginning if a person's own text is Korean, English or neither.

The bundled questions come in these two languages. Korean is known by its letters, English by its three most frequent
function words, which are a tenth of any English text and next to nothing of another.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from spanwise.quickstart.texts import Language
from spanwise.text.composition import beginning_of, is_korean
from spanwise.text.corpus import CorpusOptions, read_documents

FoundLanguage = Literal["en", "ko", ""]

FEW_LETTERS = 200  # of which nothing can be said
ENGLISH_WORDS = {"the", "of", "and"}
ENGLISH_SHARE = 0.03  # of all words
_WORD = re.compile(r"[^\W\d_]+")


def settle_language(
    texts: Sequence[str | Path], options: CorpusOptions, wanted: str | None
) -> tuple[CorpusOptions, FoundLanguage | None]:
    """Return the options with the language of the text, and the language found in the texts (None: there are none).

    The language is the one `wanted`, else that of `options`; but Korean where these say English, their default, and the
    texts are Korean. Raises: DataError where the texts cannot be read.
    """
    found: FoundLanguage | None = None
    if texts:
        documents = read_documents(list(texts), options)
        found = language_of(sentence for document in documents for sentence in document.sentences)
    if wanted is None and found == "ko" and options.language == "en":
        wanted = found
    return replace(options, language=wanted or options.language), found


def language_note(of_text: FoundLanguage | None, of_questions: Language) -> str:
    """Say what a person must know where texts and questions are not both English; "" where there is nothing to say."""
    if of_text is None or of_text == of_questions == "en":
        return ""
    if of_text == of_questions:
        return "Your text is Korean, and so are the questions (--language en asks English ones)."
    name = {"en": "English", "ko": "Korean"}[of_questions]
    return (
        f"Your text does not look {name}, and the bundled questions are {name}: their scores will say little of this "
        "model. The measures of stage 4 are of your text. With questions in its language: spanwise finetune qa."
    )


def language_of(sentences: Iterable[str]) -> FoundLanguage:
    """Return the language of a text; "en" where there is too little to tell."""
    beginning = list(beginning_of(sentences))
    words = [word for sentence in beginning for word in _WORD.findall(sentence)]
    if sum(map(len, words)) < FEW_LETTERS:
        return "en"
    if is_korean(beginning):
        return "ko"
    return "en" if sum(word.lower() in ENGLISH_WORDS for word in words) >= ENGLISH_SHARE * len(words) else ""
