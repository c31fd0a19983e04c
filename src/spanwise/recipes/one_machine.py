"""A published system made small enough for one machine, and the encoder that learns soonest there."""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.recipe import InitialWeights, PackedBatch, PretrainingRecipe
from spanwise.recipes.differences import MODERN, NO_DROPOUT, ONE_MACHINE, SINUSOIDS, without
from spanwise.recipes.sizes import modern
from spanwise.training.plan import TrainingOptions

COUNTED = InitialWeights(positions="sinusoidal", words="neighbours", biases="unigram", std=0.1)
"""The first weights from which minutes suffice: words and biases that are counted in the text."""


def one_machine(
    published: PretrainingRecipe, name: str, shape: EncoderConfig, vocab_size: int, learning_rate: float
) -> PretrainingRecipe:
    """The recipe at another size: 8,192 tokens per step, Muon, sinusoidal first positions, 100 million tokens."""
    sizes = ("num_layers", "hidden_size", "num_heads", "intermediate_size")
    return replace(
        published,
        name=name,
        tokenizer=replace(published.tokenizer, vocab_size=vocab_size),
        encoder=replace(published.encoder, **{size: getattr(shape, size) for size in sizes}),
        batch=PackedBatch(tokens_per_step=8_192, max_tokens=8_192),
        training=TrainingOptions(
            learning_rate=learning_rate,
            warmup_steps=0.06,
            schedule=published.training.schedule,
            optimizer="muon",
            adam_beta2=0.98,
            max_tokens=100_000_000,
            eval_every=500,
        ),
        initial=InitialWeights(positions="sinusoidal"),
        differences=(*published.differences, *ONE_MACHINE),
    )


def on_modern_encoder(recipe: PretrainingRecipe, name: str, shape: EncoderConfig) -> PretrainingRecipe:
    """The recipe on ModernBERT's encoder in the size of `shape`, whose intermediate_size is the width behind the gate.

    A gated network has three matrices in the place of two: two thirds of the width are as many weights.
    """
    return replace(
        recipe,
        name=name,
        encoder=modern(shape),
        initial=replace(recipe.initial, positions="normal"),
        differences=(*without(SINUSOIDS, without(NO_DROPOUT, recipe.differences)), *MODERN),
    )
