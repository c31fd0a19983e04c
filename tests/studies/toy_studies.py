"""A study of a moment: two arms of one layer, and probes that fit it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_tiny
from spanwise.studies.probes import MaskedTokens, MinimalPairs
from spanwise.studies.study import Study

TOKENS = 3_000


def toy_recipe(name: str = "toy", **parts: Any) -> PretrainingRecipe:
    """SpanBERT of one layer and 16 numbers a token."""
    tiny = spanbert_tiny()
    shape = EncoderConfig(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32, max_positions=64)
    training = replace(
        tiny.training, max_tokens=TOKENS, eval_every=None, log_every=2, learning_rate=1e-2, precision="fp32"
    )
    recipe = replace(
        tiny,
        name=name,
        encoder=shape,
        format=SingleSegment(max_length=32),
        batch=PackedBatch(tokens_per_step=256, max_tokens=256),
        training=training,
    )
    return replace(recipe, **parts)


def toy_study(**values: Any) -> Study:
    """Span masking with and without SBO."""
    arms = {"mlm": toy_recipe("mlm", objectives={"mlm": MaskedLM()}), "sbo": toy_recipe("sbo")}
    probes = (MaskedTokens(max_tokens=600), MinimalPairs(max_pairs=6))
    return Study(**{"name": "toy", "question": "Does SBO help?", "arms": arms, "probes": probes, **values})
