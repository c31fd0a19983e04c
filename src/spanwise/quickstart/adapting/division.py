"""How the time of an adaptation is divided: measuring and asking take what they need here, adapting has the rest.

What they need is tried on this machine before anything is learned, for machines differ more than texts do. However slow
the machine, they get no more than their share; then less is measured, and fewer questions are asked.
"""

from dataclasses import dataclass

from spanwise.adapt.measure import forward_seconds
from spanwise.interop.checkpoint import Checkpoint
from spanwise.quickstart.adapting.asking import MARGIN
from spanwise.quickstart.clock import LEAST_SECONDS
from spanwise.quickstart.questions import seconds_per_question
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.data import SquadData

AT_MOST = {"measure": 0.06, "ask": 0.11}  # of the time that is left once the text is read
COLUMNS = 3  # the start, the adapted model and random weights
PER_FORWARD = 3.6  # measuring takes so much of what the encoder alone does: heads, baselines, and a margin
FILLED_TOKENS = 3 * 4096  # sentences with gaps are filled in their packs


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The seconds that come after adapting on this machine."""

    measure: float  # all columns on all text that was kept out, and on sentences with gaps
    per_question: float  # all columns
    ask: float  # all columns, all questions

    def seconds(self, left: float) -> dict[str, float]:
        """Return what measuring and asking get of the seconds that are `left` for them and for adapting."""
        return {name: max(LEAST_SECONDS, min(most * left, getattr(self, name))) for name, most in AT_MOST.items()}


def try_needs(start: Checkpoint, num_tokens: int, questions: SquadData) -> Needs:
    """Time the start on some tokens and questions; `num_tokens` are kept out."""
    per_question = COLUMNS * seconds_per_question(load_task_model(start.folder, "qa"), questions)
    return Needs(
        measure=PER_FORWARD * COLUMNS * (num_tokens + FILLED_TOKENS) * forward_seconds(start),
        per_question=per_question,
        ask=MARGIN * per_question * len(questions.questions),
    )
