"""A published system made small enough for one machine; its parts stay what they are."""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.recipe import InitialWeights, PackedBatch, PretrainingRecipe
from spanwise.recipes.differences import ONE_MACHINE
from spanwise.training.plan import TrainingOptions


def one_machine(
    published: PretrainingRecipe, name: str, shape: EncoderConfig, vocab_size: int, learning_rate: float
) -> PretrainingRecipe:
    """The recipe at another size: 8,192 tokens a step, Muon, sinusoidal first positions, 100 million tokens."""
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
