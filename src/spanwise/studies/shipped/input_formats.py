"""How should text be cut into sequences? RoBERTa, table 2."""

from dataclasses import replace

from spanwise.pretraining.formats import DocSentences, FullSentences, SegmentPair
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.studies.shipped.base import LENGTH, base
from spanwise.studies.study import Study


def input_formats() -> Study:
    """RoBERTa, table 2: pairs of segments or of sentences with NSP; full sentences; sentences of one document."""
    alone = base(
        "full-sentences", masking=SubwordTokens(), replacement=Replacement(unit="token"), objectives={"mlm": MaskedLM()}
    )

    def pairs(format: SegmentPair) -> PretrainingRecipe:
        objectives: dict[str, Objective] = {"mlm": MaskedLM(), "nsp": NextSentence()}
        return replace(alone, encoder=replace(alone.encoder, pooler=True), format=format, objectives=objectives)

    return Study(
        name="input-formats",
        question="Do pairs with next-sentence prediction help, or text that is simply filled in?",
        arms={
            "segment-pair-nsp": pairs(SegmentPair(max_length=LENGTH)),
            "sentence-pair-nsp": pairs(SegmentPair(max_length=LENGTH, sentences="one")),
            "full-sentences": replace(alone, format=FullSentences(max_length=LENGTH)),
            "doc-sentences": replace(alone, format=DocSentences(max_length=LENGTH)),
        },
        probes=("masked-tokens", "minimal-pairs", "questions", "chunks"),
    )
