"""SpanBERT, ablations (Joshi et al. 2020, section 5): what is hidden (table 6), how it is learned (table 7).

All are the large model at 1.2 M steps. Table 6 has pairs of segments and NextSentence in every row; its last row is
the first of table 7. Numbers: section 5 of the paper.
"""

from dataclasses import replace
from typing import Any

from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.masking import GeometricSpans, Replacement, SubwordTokens, TaggedPhrases, WholeWords
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes.differences import POSITIONS, without
from spanwise.recipes.spanbert import spanbert_large

_TOKENS = Replacement(mask=0.8, random=0.1, keep=0.1, unit="token")
_PHRASES = (
    "Phrases are drawn without replacement, and the other half are whole words as the paper says; the released code "
    "draws phrases again and again, and geometric spans for the other half."
)


def spanbert_ablation_subword_tokens() -> PretrainingRecipe:
    """Table 6, "Subword Tokens": single pieces; also "Our BERT", which goes on to 2.4 M steps."""
    return _pairs("subword-tokens", masking=SubwordTokens(), replacement=_TOKENS)


def spanbert_ablation_whole_words() -> PretrainingRecipe:
    """Table 6, "Whole Words": single words, all their pieces."""
    return _pairs("whole-words", masking=WholeWords(), replacement=_TOKENS)


def spanbert_ablation_named_entities() -> PretrainingRecipe:
    """Table 6, "Named Entities": half entities (a store made with `--tag entities`), half whole words."""
    return _phrases("named-entities", "entities")


def spanbert_ablation_noun_phrases() -> PretrainingRecipe:
    """Table 6, "Noun Phrases": half noun phrases (a store made with `--tag noun-phrases`), half whole words."""
    return _phrases("noun-phrases", "noun-phrases")


def spanbert_ablation_geometric_spans() -> PretrainingRecipe:
    """Table 6, "Geometric Spans", and table 7, "Span Masking (2seq) + NSP"."""
    return _pairs("geometric-spans", masking=GeometricSpans())


def spanbert_ablation_single_sequence() -> PretrainingRecipe:
    """Table 7, "Span Masking (1seq)": single segments and no NextSentence."""
    return _shorter("single-sequence", objectives={"mlm": MaskedLM()})


def spanbert_ablation_single_sequence_sbo() -> PretrainingRecipe:
    """Table 7, "Span Masking (1seq) + SBO": `spanbert_large` at half its steps."""
    return _shorter("single-sequence-sbo")


def spanbert_ablation_bert_single_sequence() -> PretrainingRecipe:
    """Section 4.3, "Our BERT-1seq": single pieces of single segments, MaskedLM alone."""
    return _shorter(
        "bert-single-sequence", masking=SubwordTokens(), replacement=_TOKENS, objectives={"mlm": MaskedLM()}
    )


def _shorter(name: str, **parts: Any) -> PretrainingRecipe:
    large = spanbert_large()
    training = replace(large.training, max_steps=1_200_000)
    recipe = replace(large, name=f"spanbert-ablation-{name}", training=training, **parts)
    return recipe if "sbo" in recipe.objectives else replace(recipe, differences=without(POSITIONS, large.differences))


def _pairs(name: str, **parts: Any) -> PretrainingRecipe:
    large = spanbert_large()
    return _shorter(
        name,
        encoder=replace(large.encoder, pooler=True),
        format=SentencePair(max_length=512),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
        **parts,
    )


def _phrases(name: str, tags: str) -> PretrainingRecipe:
    recipe = _pairs(name, masking=TaggedPhrases(tags=tags), replacement=_TOKENS)
    return replace(recipe, differences=(*recipe.differences, _PHRASES))
