"""SpanBERT for Korean: spans of morphemes, and a vocabulary whose pieces end where stems do.

Between blanks Korean puts stems together with their particles and endings, so spans of such words (eojeols) are longer
and fewer than English ones, and answers often end inside a piece of a plain vocabulary. Here each morpheme is a word
for masking, and no piece of the vocabulary holds a stem and its particle together. An analyser finds the borders while
text is prepared (`prepare --tag morphemes`, extra `ko`); the trained model needs none.
"""

from dataclasses import replace

from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes.differences import POSITIONS, without
from spanwise.recipes.spanbert import (
    spanbert_base,
    spanbert_mini,
    spanbert_nano,
    spanbert_quickstart,
    spanbert_small,
    spanbert_tiny,
)

_KOREAN = (
    "Spans are made of morphemes, not of words between blanks; the paper is about English.",
    "The vocabulary composes Unicode (NFC) and keeps every syllable of its text, where its size has room for all (a "
    "warning says where not); its pieces end where morphemes do.",
    "Boundary positions have 32 rows (the released code: 15), for morphemes of several pieces.",
)


def spanbert_ko_base() -> PretrainingRecipe:
    """`spanbert_base` on Korean, with a vocabulary of 32,000 pieces."""
    return _korean(spanbert_base(), "spanbert-ko-base", vocab_size=32_000)


def spanbert_ko_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return _korean(spanbert_small(), "spanbert-ko-small", vocab_size=24_000)


def spanbert_ko_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return _korean(spanbert_mini(), "spanbert-ko-mini", vocab_size=16_000)


def spanbert_ko_tiny() -> PretrainingRecipe:
    """2 layers x 128: an hour of two cores."""
    return _korean(spanbert_tiny(), "spanbert-ko-tiny", vocab_size=12_000)


def spanbert_quickstart_ko() -> PretrainingRecipe:
    """`spanbert_quickstart` on Korean, without an analyser: spans of words between blanks."""
    return _without_analyser(spanbert_quickstart(), "spanbert-quickstart-ko", vocab_size=8_000)


def spanbert_nano_ko() -> PretrainingRecipe:
    """`spanbert_nano` on Korean, without an analyser: spans of words between blanks, 12,000 pieces."""
    return _without_analyser(spanbert_nano(), "spanbert-nano-ko", vocab_size=12_000)


def _without_analyser(english: PretrainingRecipe, name: str, vocab_size: int) -> PretrainingRecipe:
    tokenizer = replace(english.tokenizer, vocab_size=vocab_size, unicode_form="NFC")
    words = "Spans are made of words between blanks; those of spanbert-ko are morphemes."
    return replace(english, name=name, tokenizer=tokenizer, differences=(*english.differences, words))


def _korean(recipe: PretrainingRecipe, name: str, vocab_size: int) -> PretrainingRecipe:
    return replace(
        recipe,
        name=name,
        tokenizer=replace(recipe.tokenizer, vocab_size=vocab_size, unicode_form="NFC", boundaries="morphemes"),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary(num_positions=32)},
        word_unit="morpheme",
        differences=(*without(POSITIONS, recipe.differences), *_KOREAN),
    )
