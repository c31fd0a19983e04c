"""Splinter (Ram et al. 2021): spans that a text repeats become questions, and the model points at the one that stands.

`splinter_base` asks as the paper says; its `_original` twin keeps what the released code does instead. Numbers:
sections 3 and 5 of the paper and its released code.
"""

from dataclasses import replace

from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    QuestionTokens,
    RecurringGroups,
    Replacement,
    TwoMaskings,
)
from spanwise.pretraining.objectives import SpanSelection
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT, INITIAL, without
from spanwise.recipes.one_machine import one_machine
from spanwise.recipes.spanbert import spanbert_mini, spanbert_small
from spanwise.training.plan import TrainingOptions

_BORDERS = "Every occurrence of a span begins and ends at the border of a word; the released code looks at one alone."
_COUNTED = (
    "Stop words are counted in the text, so any language will do (the paper: a list of 120 English words).",
    "A span that recurs more often than questions are left is left out, so that every question has one answer; the "
    "released code asks for some of its occurrences, and calls the others wrong.",
    "Spans are drawn anew in every epoch; the released data has five drawings of each text.",
)
_PAPER = (
    ATTENTION_DROPOUT,
    INITIAL,
    _BORDERS,
    "GELU is exact, as in Hugging Face's class of the released weights; the code that trained them has its tanh form.",
    "What a question replaces is left out, so sequences get shorter; the released code leaves [PAD] outside attention.",
    "Sequences are filled with whole sentences; the released code fills them with paragraphs and begins elsewhere in "
    "each of five copies.",
)
_BESIDE = (
    "Masked words and their boundaries are learned beside selection, from what it leaves; Splinter has no other loss."
)
_ELSEWHERE = (
    "Masked words and their boundaries are learned in one half of the sequences, selection in the other; Splinter has "
    "no other loss."
)


def splinter_base() -> PretrainingRecipe:
    """12 layers x 768, 2.4 M steps of 256 x 512 tokens, peak rate 1e-4; questions of any language."""
    return PretrainingRecipe(
        name="splinter-base",
        tokenizer=LearnedTokenizer(kind="wordpiece", vocab_size=28_996, cased=True),
        encoder=sizes.BASE,
        format=SingleSegment(max_length=512),
        masking=RecurringGroups(ratio=0.15, max_pieces=10, max_spans=30),
        replacement=QuestionTokens(),
        objectives={"span_selection": SpanSelection()},
        batch=PackedBatch(tokens_per_step=131_072, max_tokens=16_384),
        training=TrainingOptions(learning_rate=1e-4, warmup_steps=10_000, max_steps=2_400_000),
        differences=(*_PAPER, *_COUNTED),
    )


def splinter_base_original() -> PretrainingRecipe:
    """`splinter_base` with the choices of the released code: English stop words, five drawings of each text."""
    base = splinter_base()
    return replace(
        base,
        name="splinter-base-original",
        masking=replace(base.masking, stop_words="english", end="spans"),
        num_maskings=5,
        differences=(*_PAPER, "The list of English stop words is our own: the released one has no licence."),
    )


def splinter_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return one_machine(splinter_base(), "splinter-small", sizes.SMALL, vocab_size=16_000, learning_rate=2e-3)


def splinter_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return one_machine(splinter_base(), "splinter-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)


def splinter_ko_mini() -> PretrainingRecipe:
    """`splinter_mini` on Korean: a span is made of morphemes, so a name recurs with another particle."""
    mini = splinter_mini()
    return replace(
        mini,
        name="splinter-ko-mini",
        tokenizer=replace(mini.tokenizer, unicode_form="NFC", boundaries="morphemes"),
        word_unit="morpheme",
        differences=(*mini.differences, "Spans are made of morphemes, not of words between blanks."),
    )


def splinter_second_phase() -> PretrainingRecipe:
    """Selection for an encoder that has learned to fill gaps: `--init` gives its shape and weights; a short run."""
    mini = splinter_mini()
    return replace(
        mini,
        name="splinter-second-phase",
        training=replace(mini.training, learning_rate=1e-3, max_tokens=20_000_000),
        differences=(
            *mini.differences,
            "It goes on from a model of another objective, at a smaller rate and for less.",
        ),
    )


def spanbert_selection_small() -> PretrainingRecipe:
    """`spanbert_small` with questions in the same sequences: three losses from one pass."""
    return _beside(spanbert_small(), "spanbert-selection-small")


def spanbert_selection_mini() -> PretrainingRecipe:
    """`spanbert_mini` with questions in the same sequences: three losses from one pass."""
    return _beside(spanbert_mini(), "spanbert-selection-mini")


def spanbert_selection_mixture_mini() -> PretrainingRecipe:
    """`spanbert_mini` with questions in other sequences: half of them hide words, half have questions."""
    beside = _beside(spanbert_mini(), "spanbert-selection-mixture-mini")
    return replace(
        beside,
        masking=MaskingMixture(schemes={"spans": GeometricSpans(), "questions": RecurringGroups()}),
        differences=(*without(_BESIDE, beside.differences), _ELSEWHERE),
    )


def _beside(recipe: PretrainingRecipe, name: str) -> PretrainingRecipe:
    return replace(
        recipe,
        name=name,
        masking=TwoMaskings(first=RecurringGroups(), then=recipe.masking),
        replacement=QuestionTokens(others=Replacement()),
        objectives={**recipe.objectives, "span_selection": SpanSelection()},
        differences=(*recipe.differences, _BESIDE, *_COUNTED[:2], _BORDERS),
    )
