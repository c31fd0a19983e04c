"""Which objectives earn their cost? SpanBERT, table 7."""

from dataclasses import replace

from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.studies.shipped.base import LENGTH, base
from spanwise.studies.study import Study


def objectives() -> Study:
    """SpanBERT, table 7: span masking with NSP on pairs, on single sequences, and with SBO."""
    sbo = base("single-sequence-sbo")
    return Study(
        name="objectives",
        question="With span masking alone, what do single sequences and the Span Boundary Objective add?",
        arms={
            "pairs-nsp": replace(
                sbo,
                name="pairs-nsp",
                encoder=replace(sbo.encoder, pooler=True),
                format=SentencePair(max_length=LENGTH),
                objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
            ),
            "single-sequence": replace(sbo, name="single-sequence", objectives={"mlm": MaskedLM()}),
            "single-sequence-sbo": sbo,
        },
        probes=("masked-tokens", "minimal-pairs", "span-pairs", "coreference", "questions"),
    )
