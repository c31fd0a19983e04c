"""BERT (Devlin et al. 2019): random tokens of sentence pairs, MaskedLM + NextSentence.

Numbers: section 3 and appendix A.2; Google's released code where the paper is silent.
"""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.masking import Replacement, SubwordTokens, WholeWords
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT, BUDGET, INITIAL, without
from spanwise.recipes.one_machine import one_machine
from spanwise.training.plan import TrainingOptions

_SHORT_PHASE = "To do as the paper does: --set length_warmup.max_length=128 --set length_warmup.steps=900000."
_PAPER = (
    ATTENTION_DROPOUT,
    BUDGET,
    INITIAL,
    "All steps have sequences of 512 tokens; the paper trains 90 % of them at 128.",
    _SHORT_PHASE,
    "Half of the second segments are random; the released code adds those of blocks with a single sentence, some 56 %.",
    "Ten maskings come again and again, as in the released data; they lie in other packs each time.",
)


def bert_base() -> PretrainingRecipe:
    """12 layers x 768, 1 M steps of 256 x 512 tokens, peak rate 1e-4 (section A.2)."""
    return _published("bert-base", sizes.BASE)


def bert_large() -> PretrainingRecipe:
    """24 layers x 1024, otherwise as the base model."""
    return _published("bert-large", sizes.LARGE)


def bert_base_whole_word() -> PretrainingRecipe:
    """`bert_base` that hides all pieces of a word (Google's models of May 2019 hide so, large ones alone)."""
    return _whole_word(bert_base())


def bert_large_whole_word() -> PretrainingRecipe:
    """`bert_large` that hides all pieces of a word, as Google's models of May 2019."""
    return _whole_word(bert_large())


def bert_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return _one_machine("bert-small", sizes.SMALL, learning_rate=2e-3)


def bert_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return _one_machine("bert-mini", sizes.MINI, learning_rate=4e-3)


def _published(name: str, shape: EncoderConfig) -> PretrainingRecipe:
    return PretrainingRecipe(
        name=name,
        tokenizer=LearnedTokenizer(kind="wordpiece", vocab_size=30_522, cased=False),
        encoder=replace(shape, activation="gelu_tanh", pooler=True),
        format=SentencePair(max_length=512, short_sequence_share=0.1),
        masking=SubwordTokens(ratio=0.15),
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="token", random_law="uniform"),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
        batch=PackedBatch(tokens_per_step=131_072, max_tokens=16_384),
        training=TrainingOptions(learning_rate=1e-4, warmup_steps=10_000, max_steps=1_000_000),
        num_maskings=10,
        differences=_PAPER,
    )


def _one_machine(name: str, shape: EncoderConfig, learning_rate: float) -> PretrainingRecipe:
    """`bert_base` at another size; its run has fewer steps than the paper's short phase alone."""
    small = one_machine(bert_base(), name, shape, vocab_size=16_000, learning_rate=learning_rate)
    return replace(small, differences=without(_SHORT_PHASE, small.differences))


def _whole_word(recipe: PretrainingRecipe) -> PretrainingRecipe:
    return replace(
        recipe,
        name=f"{recipe.name}-whole-word",
        masking=WholeWords(ratio=0.15),
        differences=(*recipe.differences, "A last word that passes the budget is finished, not left out."),
    )
