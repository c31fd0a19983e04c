"""All six systems at one size: 2 layers x 128, the same vocabulary, text, tokens, batch, rate and optimiser.

What makes a system stays: its format, masking, replacement, encoder values, corruption and objectives.
"""

from dataclasses import replace

from spanwise import recipes
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes

NAMES = ("spanbert", "bert", "roberta", "albert", "electra", "gpt1")
LENGTH, TOKENS = 128, 4_000_000


def spanbert() -> PretrainingRecipe:
    """Geometric spans, MLM + SBO."""
    return _at_one_size(recipes.spanbert_mini(), "spanbert")


def bert() -> PretrainingRecipe:
    """Random tokens of sentence pairs, MLM + NSP; ten maskings."""
    return _at_one_size(recipes.bert_mini(), "bert")


def roberta() -> PretrainingRecipe:
    """Random tokens of full sentences, MLM."""
    return _at_one_size(recipes.roberta_mini(), "roberta")


def albert() -> PretrainingRecipe:
    """N-grams of ordered pairs, MLM + SOP; one layer's weights for both, embeddings of 64."""
    recipe = _at_one_size(recipes.albert_mini(), "albert")
    return replace(recipe, encoder=replace(recipe.encoder, embedding_size=64))


def electra() -> PretrainingRecipe:
    """A generator of half the width fills hidden tokens, the encoder finds what it replaced."""
    recipe = _at_one_size(recipes.electra_mini(), "electra")
    return replace(recipe, corruption=replace(recipe.corruption, size=0.5))


def gpt1() -> PretrainingRecipe:
    """Contiguous text, the next token."""
    return _at_one_size(recipes.gpt1_mini(), "gpt1")


def _at_one_size(recipe: PretrainingRecipe, name: str) -> PretrainingRecipe:
    shape = {key: getattr(sizes.TINY, key) for key in ("num_layers", "hidden_size", "num_heads", "intermediate_size")}
    return replace(
        recipe,
        name=f"six-systems-{name}",
        encoder=replace(recipe.encoder, max_positions=LENGTH, hidden_dropout=0.0, embedding_size=None, **shape),
        format=replace(recipe.format, max_length=LENGTH),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=4_096),
        training=replace(
            recipe.training,
            learning_rate=4e-3,
            schedule="linear",
            max_tokens=TOKENS,
            eval_every=None,
            save_every=200,
            log_every=10,
            threads=1,
        ),
    )
