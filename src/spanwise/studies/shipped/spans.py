"""What do spans and their borders buy over single pieces, on single sequences? SpanBERT, tables 6 and 7, in one."""

from dataclasses import replace

from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.recipe import InitialWeights, PackedBatch
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

RATIO = 0.3


def spans() -> Study:
    """Pieces; spans, alone and with SBO; both in turn, alone and with SBO. All begin with counted word vectors."""
    initial = InitialWeights(positions="sinusoidal", words="neighbours", biases="unigram", std=0.1)
    batch = PackedBatch(tokens_per_step=2_048, max_tokens=2_048)
    whole, single = GeometricSpans(ratio=RATIO), SubwordTokens(ratio=RATIO)
    spans_sbo = base("spans-sbo", masking=whole, initial=initial, batch=batch)
    mixed_sbo = replace(spans_sbo, name="mixed-sbo", masking=MaskingMixture(schemes={"spans": whole, "pieces": single}))
    alone = {"mlm": MaskedLM()}
    pieces = replace(
        spans_sbo,
        name="pieces",
        masking=single,
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="token"),
        objectives=alone,
    )
    return Study(
        name="spans",
        question="What do span masking and the Span Boundary Objective each buy over masking single pieces?",
        arms={
            "pieces": pieces,
            "spans": replace(spans_sbo, name="spans", objectives=alone),
            "spans-sbo": spans_sbo,
            "mixed": replace(mixed_sbo, name="mixed", objectives=alone),
            "mixed-sbo": mixed_sbo,
        },
        probes=("masked-tokens", "minimal-pairs", "span-pairs", "coreference", "questions", "chunks"),
        notes=(
            "30 % of the tokens are hidden; the papers hide 15 %.",
            "The mixed arms hide spans in half of the sequences and single pieces in the other half.",
        ),
    )
