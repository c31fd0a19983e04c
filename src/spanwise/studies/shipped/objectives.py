"""Which objectives, and which sequences, earn their cost?"""

from dataclasses import replace

from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import DocSentences, FullSentences, SegmentPair, SentencePair
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM, NextSentence, ReplacedToken
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.recipe import PretrainingRecipe
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


_PROBES = ("span-pairs", "questions", "chunks", "entities")


def electra() -> Study:
    """ELECTRA against MLM at equal tokens; the generator's cost comes on top."""
    question = "Does an encoder learn more from finding replaced tokens than from guessing hidden ones?"
    return Study(name="electra", question=question, arms=_arms(), probes=_PROBES)


def electra_at_equal_compute() -> Study:
    """ELECTRA against MLM at equal training operations, those of the generator counted."""
    return Study(
        name="electra-at-equal-compute",
        question="And when both have the same training operations?",
        arms=_arms(),
        compute=1.5e14,
        probes=_PROBES,
    )


def _arms() -> dict[str, PretrainingRecipe]:
    mlm = base("mlm", masking=SubwordTokens(), replacement=Replacement(unit="token"), objectives={"mlm": MaskedLM()})
    replaced = replace(
        mlm,
        name="electra",
        replacement=Replacement(mask=0.85, random=0.0, keep=0.15, unit="token"),
        corruption=Generator(size=1 / 2),
        objectives={"rtd": ReplacedToken(weight=50.0)},
    )
    return {"mlm": mlm, "electra": replaced}


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
