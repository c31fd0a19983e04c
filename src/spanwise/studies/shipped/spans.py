"""What do spans and their borders buy over single pieces, on single sequences? SpanBERT, tables 6 and 7, in one."""

from dataclasses import replace

from spanwise.pretraining.masking import GeometricSpans, Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.recipe import InitialWeights
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

RATIO = 0.3


def spans() -> Study:
    """Pieces, spans, spans with SBO, from counted word vectors: past the plateau within a few million tokens."""
    initial = InitialWeights(positions="sinusoidal", words="neighbours", biases="unigram", std=0.1)
    sbo = base("spans-sbo", masking=GeometricSpans(ratio=RATIO), initial=initial)
    alone = replace(sbo, name="spans", objectives={"mlm": MaskedLM()})
    pieces = replace(
        alone,
        name="pieces",
        masking=SubwordTokens(ratio=RATIO),
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="token"),
    )
    return Study(
        name="spans",
        question="What do span masking and the Span Boundary Objective each buy over masking single pieces?",
        arms={"pieces": pieces, "spans": alone, "spans-sbo": sbo},
        probes=("masked-tokens", "minimal-pairs", "span-pairs", "coreference", "questions", "chunks"),
        notes=("30 % of the tokens are hidden; the papers hide 15 %.",),
    )
