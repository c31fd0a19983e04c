"""Crosses of our own: parts that no paper has put together, a few lines each."""

from dataclasses import replace

from spanwise.pretraining.masking import GeometricSpans, RecurringSpans
from spanwise.pretraining.objectives import SpanBoundary
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes.albert import albert_mini
from spanwise.recipes.electra import electra_mini
from spanwise.recipes.spanbert import spanbert_mini


def electra_spans_mini() -> PretrainingRecipe:
    """`electra_mini` whose generator fills SpanBERT's spans of whole words."""
    mini = electra_mini()
    spans = replace(mini.replacement, unit="span")
    return replace(mini, name="electra-spans-mini", masking=GeometricSpans(), replacement=spans)


def spanbert_recurring_mini() -> PretrainingRecipe:
    """`spanbert_mini` that hides spans which stand elsewhere in their text, as Splinter (Ram et al. 2021) selects."""
    return replace(spanbert_mini(), name="spanbert-recurring-mini", masking=RecurringSpans())


def albert_spans_mini() -> PretrainingRecipe:
    """`albert_mini` with SpanBERT's spans and boundary objective beside the order of sentences."""
    mini = albert_mini()
    return replace(
        mini,
        name="albert-spans-mini",
        masking=GeometricSpans(),
        replacement=replace(mini.replacement, unit="span"),
        objectives={**mini.objectives, "sbo": SpanBoundary()},
    )
