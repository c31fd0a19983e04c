"""The shipped study `few-shot-questions` at 2 layers x 128: the same arms and draws, for two hours instead of a day."""

from dataclasses import replace

from spanwise.studies.catalogue import find_study
from spanwise.studies.probes import FewShotQuestions
from spanwise.studies.study import Study, changed_study

SHAPE = {"num_layers": 2, "hidden_size": 128, "num_heads": 2, "intermediate_size": 512}
SECONDS = 600.0


def small() -> Study:
    """Every arm learns for ten minutes of one core; all questions and coreference are left to the whole."""
    whole = find_study("few-shot-questions")
    changes = [f"encoder.{name}={value}" for name, value in SHAPE.items()]
    cut = changed_study(whole, seconds=SECONDS, overrides=changes)
    return replace(cut, probes=(FewShotQuestions(sizes=(16, 128, 1_024)),))
