"""Which encoder, and which batch?"""

from dataclasses import replace
from typing import Literal

from spanwise.pretraining.formats import OrderedPair
from spanwise.pretraining.masking import NGrams, Replacement
from spanwise.pretraining.objectives import MaskedLM, SentenceOrder
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.studies.shipped.base import LENGTH, base
from spanwise.studies.study import Study


def albert_sharing() -> Study:
    """ALBERT, table 4: no layer shares, attention is shared, feed-forward is shared, all is."""
    return Study(
        name="albert-sharing",
        question="What does sharing the weights of layers cost at equal tokens?",
        arms={
            "not-shared": _albert("none"),
            "shared-attention": _albert("attention"),
            "shared-feed-forward": _albert("feed_forward"),
            "all-shared": _albert("all"),
        },
        probes=("masked-tokens", "minimal-pairs", "questions", "chunks"),
        notes=("ALBERT's parts at 4 layers x 128 with embeddings of 64.",),
    )


def _albert(sharing: Literal["none", "attention", "feed_forward", "all"]) -> PretrainingRecipe:
    small = base(f"albert-{sharing}")
    return replace(
        small,
        encoder=replace(small.encoder, num_layers=4, embedding_size=64, pooler=True, sharing=sharing),
        format=OrderedPair(max_length=LENGTH),
        masking=NGrams(max_words=3),
        replacement=Replacement(unit="token", random_law="uniform"),
        objectives={"mlm": MaskedLM(), "sop": SentenceOrder()},
    )


_SIZES = {"2x128": (2, 128, 4e-3), "4x128": (4, 128, 4e-3), "2x256": (2, 256, 3e-3), "4x256": (4, 256, 3e-3)}
_PROBES = ("masked-tokens", "minimal-pairs", "span-pairs", "questions")
_NOTE = "The learning rate is lower for the wider encoders (3e-3 for 4e-3)."


def model_size() -> Study:
    """Layers and width at equal tokens."""
    question = "What do twice the layers and twice the width buy when all read the same tokens?"
    return Study(name="model-size", question=question, arms=_arms(), probes=_PROBES, notes=(_NOTE,))


def model_size_at_equal_compute() -> Study:
    """Layers and width at equal training operations: the smaller encoders read more."""
    return Study(
        name="model-size-at-equal-compute",
        question="For the same training operations, a small encoder that reads much or a large one that reads little?",
        arms=_arms(),
        compute=2e14,
        probes=_PROBES,
        notes=(_NOTE,),
    )


def _arms() -> dict[str, PretrainingRecipe]:
    found = {}
    for name, (layers, width, rate) in _SIZES.items():
        small = base(f"size-{name}")
        found[name] = replace(
            small,
            encoder=replace(
                small.encoder, num_layers=layers, hidden_size=width, num_heads=width // 64, intermediate_size=4 * width
            ),
            training=replace(small.training, learning_rate=rate),
        )
    return found


_PACK, _STANDARD, _BATCHES = 2_048, 4_096, (4_096, 2_048, 8_192, 32_768)


def batch_size() -> Study:
    """Tokens per step at equal tokens; the learning rate follows their square root."""
    return Study(
        name="batch-size",
        question="For the same tokens, many small steps or few large ones?",
        arms={f"{size}-tokens": _sized(size) for size in _BATCHES},
        probes=("masked-tokens", "minimal-pairs", "questions"),
        notes=("The learning rate grows with the square root of the batch, from 4e-3 at 4,096 tokens.",),
    )


def _sized(tokens: int) -> PretrainingRecipe:
    small = base(f"batch-{tokens}")
    rate = small.training.peak_rate * (tokens / _STANDARD) ** 0.5
    return replace(
        small,
        batch=PackedBatch(tokens_per_step=tokens, max_tokens=_PACK),
        training=replace(small.training, learning_rate=rate, eval_every=max(1, 1_500 * _STANDARD // tokens)),
    )
