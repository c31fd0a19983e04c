"""Must masks be new at every reading? RoBERTa, table 1."""

from dataclasses import replace

from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study


def static_masking() -> Study:
    """RoBERTa, table 1: masks drawn once, or anew whenever a text is read again."""
    dynamic = base(
        "dynamic", masking=SubwordTokens(), replacement=Replacement(unit="token"), objectives={"mlm": MaskedLM()}
    )
    return Study(
        name="static-masking",
        question="Where text is read several times, must its masks be new each time?",
        arms={"static": replace(dynamic, name="static", num_maskings=1), "dynamic": dynamic},
        probes=("masked-tokens", "minimal-pairs", "questions"),
        notes=(
            "The arms differ only where the tokens of a run are more than those of the store: take a store of a fifth "
            "of them or less.",
        ),
    )
