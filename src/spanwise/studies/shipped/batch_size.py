"""Many small steps or few large ones?"""

from dataclasses import replace

from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

_PACK, _STANDARD, _SIZES = 2_048, 4_096, (4_096, 2_048, 8_192, 32_768)


def batch_size() -> Study:
    """Tokens a step at equal tokens, the rate by the square root of them."""
    return Study(
        name="batch-size",
        question="For the same tokens, many small steps or few large ones?",
        arms={f"{size}-tokens": _sized(size) for size in _SIZES},
        probes=("masked-tokens", "minimal-pairs", "questions"),
        notes=("The learning rate grows with the square root of the batch, from 4e-3 at 4,096 tokens.",),
    )


def _sized(tokens: int) -> PretrainingRecipe:
    small = base(f"batch-{tokens}")
    rate = small.training.learning_rate * (tokens / _STANDARD) ** 0.5
    return replace(
        small,
        batch=PackedBatch(tokens_per_step=tokens, max_tokens=_PACK),
        training=replace(small.training, learning_rate=rate, eval_every=max(1, 1_500 * _STANDARD // tokens)),
    )
