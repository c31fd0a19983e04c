"""Going on from all-MiniLM-L6-v2 (6 layers x 384) with MLM + SBO."""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.recipe import InitialWeights, PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_mini
from spanwise.training.plan import TrainingOptions


def mlm_sbo() -> PretrainingRecipe:
    """SpanBERT's masking and losses; Muon leaves the unigram plateau, on which AdamW at 3e-4 stayed (README)."""
    mini = spanbert_mini()
    return replace(
        mini,
        name="minilm-mlm-sbo",
        tokenizer=replace(mini.tokenizer, vocab_size=30_522, cased=False),
        encoder=EncoderConfig(num_layers=6, hidden_size=384, num_heads=12, intermediate_size=1_536, hidden_dropout=0.0),
        format=SingleSegment(max_length=256),
        batch=PackedBatch(tokens_per_step=2_048, max_tokens=2_048),
        training=TrainingOptions(
            learning_rate=1.5e-3,
            warmup_steps=0.06,
            max_steps=150,
            optimizer="muon",
            save_every=50,
            keep=1,
            log_every=10,
            threads=1,
        ),
        initial=InitialWeights(),
        differences=(),
    )


def mlm_sbo_gently() -> PretrainingRecipe:
    """The same at 2e-4."""
    recipe = mlm_sbo()
    return replace(recipe, name="minilm-mlm-sbo-gently", training=replace(recipe.training, learning_rate=2e-4))


def mlm_sbo_two_rates() -> PretrainingRecipe:
    """AdamW at 3e-5, the fresh heads at 1e-3: what `spanwise quickstart --init` does."""
    recipe = mlm_sbo()
    training = replace(recipe.training, optimizer="adamw", learning_rate=3e-5, head_learning_rate=1e-3)
    return replace(recipe, name="minilm-mlm-sbo-two-rates", training=training)
