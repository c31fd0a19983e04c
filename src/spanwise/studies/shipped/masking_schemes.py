"""What should be hidden? SpanBERT, table 6."""

from dataclasses import replace

from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.masking import GeometricSpans, Replacement, SubwordTokens, TaggedPhrases, WholeWords
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.recipe import PretrainingRecipe
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
