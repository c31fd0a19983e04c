"""Find what was replaced, or guess what was hidden? ELECTRA, section 3."""

from dataclasses import replace

from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM, ReplacedToken
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

_PROBES = ("span-pairs", "questions", "chunks", "entities")


def electra() -> Study:
    """ELECTRA against MLM at equal tokens; the generator's cost comes on top."""
    question = "Does an encoder learn more from finding replaced tokens than from guessing hidden ones?"
    return Study(name="electra", question=question, arms=_arms(), probes=_PROBES)


def electra_at_equal_compute() -> Study:
    """ELECTRA against MLM at equal training operations, those of the generator counted."""
    return Study(
        name="electra-at-equal-compute",
        question="And when both have the same training operations?",
        arms=_arms(),
        compute=1.5e14,
        probes=_PROBES,
    )


def _arms() -> dict[str, PretrainingRecipe]:
    mlm = base("mlm", masking=SubwordTokens(), replacement=Replacement(unit="token"), objectives={"mlm": MaskedLM()})
    replaced = replace(
        mlm,
        name="electra",
        replacement=Replacement(mask=0.85, random=0.0, keep=0.15, unit="token"),
        corruption=Generator(size=1 / 2),
        objectives={"rtd": ReplacedToken(weight=50.0)},
    )
    return {"mlm": mlm, "electra": replaced}
