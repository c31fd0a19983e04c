"""Which weights may layers share? ALBERT, table 4."""

from dataclasses import replace
from typing import Literal

from spanwise.pretraining.formats import OrderedPair
from spanwise.pretraining.masking import NGrams, Replacement
from spanwise.pretraining.objectives import MaskedLM, SentenceOrder
from spanwise.pretraining.recipe import PretrainingRecipe
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
