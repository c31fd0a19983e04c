"""The recipe that the shipped studies vary: SpanBERT at 2 layers x 128, 20 minutes of one core for 30 million tokens.

Larger: `spanwise study NAME --set encoder.num_layers=6 --set encoder.hidden_size=384 ... --tokens 1000000000`.
"""

from dataclasses import replace
from typing import Any

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_tiny

TOKENS = 30_000_000
LENGTH = 256


def base(name: str, **parts: Any) -> PretrainingRecipe:
    """Return the small SpanBERT with other parts: span masking, MLM + SBO, single segments of 256, no dropout, Muon."""
    tiny = spanbert_tiny()
    encoder = EncoderConfig(
        num_layers=2, hidden_size=128, num_heads=2, intermediate_size=512, max_positions=512, hidden_dropout=0.0
    )
    recipe = replace(
        tiny,
        name=name,
        encoder=encoder,
        format=SingleSegment(max_length=LENGTH),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=4_096),
        training=replace(
            tiny.training, learning_rate=4e-3, max_tokens=TOKENS, eval_every=1_500, log_every=50, threads=1
        ),
    )
    return replace(recipe, **parts)
