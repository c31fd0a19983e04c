"""When the shipped reader says "no answer": the threshold of the best F1 at a share of questions without answer."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.ranking import Predictions, SpanAnswer

FOLDER = Path(__file__).parents[2] / "records" / "shipped-weights"
SPEC = importlib.util.spec_from_file_location("settle", FOLDER / "settle.py")
settle = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(settle)


def test_f1_is_that_of_what_is_told_and_refused_at_its_share():
    """Two answerable questions, of which one is answered rightly, and two without answer; null odds 0, 2, 1 and 3."""
    context, answer = "Ann met Bob.", Answer(text="Ann", start=0)
    questions = tuple(
        Question(id=str(number), text="Who?", paragraph=0, answers=(answer,) if number < 2 else ())
        for number in range(4)
    )
    data = SquadData(
        source="x", version="v2.0", contexts=(context,), titles=("t",), questions=questions, has_unanswerable=True
    )
    told = {"0": "Ann", "1": "Bob", "2": "Bob", "3": "Bob"}
    nbest = {key: (SpanAnswer(text, 0, 3, 1.0, 1.0),) for key, text in told.items()}
    predictions = Predictions(nbest=nbest, null_odds={"0": 0.0, "1": 2.0, "2": 1.0, "3": 3.0})
    found = settle.expected(data, predictions, [-1.0, 0.5, 1.5, 9.0])
    share = settle.UNANSWERED_SHARE
    np.testing.assert_allclose(found, [share, (1 - share) / 2 + share, (1 - share) / 2 + share / 2, (1 - share) / 2])
    assert share == pytest.approx(0.1)
