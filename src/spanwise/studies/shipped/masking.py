"""Which tokens should be hidden, how many, and how often anew?"""

from dataclasses import replace

from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    Replacement,
    SubwordTokens,
    TaggedPhrases,
    WholeWords,
)
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes.one_machine import COUNTED
from spanwise.studies.shipped.base import LENGTH, base
from spanwise.studies.study import Study

_QUESTION = "With MLM and NSP on pairs, which tokens should be hidden: pieces, words, phrases or spans?"
_PROBES = ("masked-tokens", "span-pairs", "questions", "chunks", "entities")


def masking_schemes() -> Study:
    """SpanBERT, table 6, for any store: subword tokens, whole words, geometric spans."""
    arms = {
        "subword-tokens": _pairs(SubwordTokens(), unit="token"),
        "whole-words": _pairs(WholeWords(), unit="token"),
        "geometric-spans": _pairs(GeometricSpans(), unit="span"),
    }
    return Study(name="masking-schemes", question=_QUESTION, arms=arms, probes=_PROBES)


def masking_schemes_with_phrases() -> Study:
    """SpanBERT, table 6, whole: needs a store made with `--tag entities --tag noun-phrases`."""
    plain = masking_schemes().arms
    arms = {
        "subword-tokens": plain["subword-tokens"],
        "whole-words": plain["whole-words"],
        "named-entities": _pairs(TaggedPhrases(tags="entities"), unit="token"),
        "noun-phrases": _pairs(TaggedPhrases(tags="noun-phrases"), unit="token"),
        "geometric-spans": plain["geometric-spans"],
    }
    return Study(name="masking-schemes-with-phrases", question=_QUESTION, arms=arms, probes=_PROBES)


def _pairs(masking: SubwordTokens | WholeWords | TaggedPhrases | GeometricSpans, *, unit: str) -> PretrainingRecipe:
    small = base("pairs")
    return replace(
        small,
        encoder=replace(small.encoder, pooler=True),
        format=SentencePair(max_length=LENGTH),
        masking=masking,
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="span" if unit == "span" else "token"),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
    )


def masking_rate() -> Study:
    """15 % of the text hidden, as in all papers here, or 5, 25 and 40 %."""
    rates = (15, 5, 25, 40)
    return Study(
        name="masking-rate",
        question="Of SpanBERT's text, which share should be hidden?",
        arms={f"{rate}-per-cent": base(f"rate-{rate}", masking=GeometricSpans(ratio=rate / 100)) for rate in rates},
        probes=("masked-tokens", "minimal-pairs", "span-pairs", "questions"),
        notes=("The probe of masked tokens hides 15 %, whatever an arm was trained with.",),
    )


def static_masking() -> Study:
    """RoBERTa, table 1: masks drawn once, or anew whenever a text is read again."""
    dynamic = base(
        "dynamic", masking=SubwordTokens(), replacement=Replacement(unit="token"), objectives={"mlm": MaskedLM()}
    )
    return Study(
        name="static-masking",
        question="Where text is read several times, must its masks be new each time?",
        arms={"static": replace(dynamic, name="static", num_maskings=1), "dynamic": dynamic},
        probes=("masked-tokens", "minimal-pairs", "questions"),
        notes=(
            "The arms differ only where the tokens of a run are more than those of the store: take a store of a fifth "
            "of them or less.",
        ),
    )


RATIO = 0.3


def spans() -> Study:
    """Pieces; spans, alone and with SBO; both in turn, alone and with SBO. All begin with counted word vectors."""
    batch = PackedBatch(tokens_per_step=2_048, max_tokens=2_048)
    whole, single = GeometricSpans(ratio=RATIO), SubwordTokens(ratio=RATIO)
    spans_sbo = base("spans-sbo", masking=whole, initial=COUNTED, batch=batch)
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
