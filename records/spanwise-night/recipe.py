"""What one sitting of two cores buys: `spanbert-nano` with four layers, longer and on more text."""

from dataclasses import replace

from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_nano


def spanbert_night() -> PretrainingRecipe:
    """Twice the layers and tokens a step, 95 minutes; the schedule fits itself to any `--budget`."""
    nano = spanbert_nano()
    return replace(
        nano,
        name="spanbert-night",
        encoder=replace(nano.encoder, num_layers=4),
        batch=PackedBatch(tokens_per_step=8_192, max_tokens=2_048),
        training=replace(nano.training, budget=5_700.0, eval_every=500, log_every=50),
    )
