"""Recipes of one's own: functions that return one. `spanwise pretrain my_recipes.py:electra_recurring --data STORE ...`

The first crosses parts of three papers, the second brings a masking that is a function of this file.
"""

from dataclasses import replace

from spanwise import recipes
from spanwise.pretraining.masking import FunctionMasking, RecurringSpans
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.recipe import PretrainingRecipe


def electra_recurring() -> PretrainingRecipe:
    """ELECTRA whose generator fills spans that stand elsewhere in the text (Splinter) and learns their borders, too
    (SpanBERT)."""
    mini = recipes.electra_mini()
    return replace(
        mini,
        name="electra-recurring",
        masking=RecurringSpans(),
        replacement=replace(mini.replacement, unit="span"),
        corruption=replace(mini.corruption, objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()}),
    )


def last_words(sequence, budget, draws) -> list[tuple[int, int]]:
    """Hide the last words of a sequence, as many as the budget asks for; `draws` would give random numbers."""
    chosen, left = [], budget
    for start, end in reversed(sequence.words):
        if left <= 0:
            break
        chosen.append((start, end))
        left -= end - start
    return chosen


def spanbert_last_words() -> PretrainingRecipe:
    """SpanBERT that always guesses how a sequence ends."""
    mini = recipes.spanbert_mini()
    return replace(mini, name="spanbert-last-words", masking=FunctionMasking(function=last_words))
