"""The questions of an adaptation: the same ones to the shipped weights, to the adapted ones, and to their controls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spanwise.asking.term_weights import nearest_passages
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pretraining.comparison import Measure, compare_columns
from spanwise.quickstart.adapting.lexical import lexical_answer
from spanwise.quickstart.adapting.record import TwoAnswers
from spanwise.quickstart.questions import answer, answer_question, answer_record, subset
from spanwise.quickstart.texts import Language
from spanwise.tasks.checkpoint import LoadedTask
from spanwise.tasks.heads import new_head
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.ranking import Predictions
from spanwise.tasks.qa.score import METRICS, raw_scores

SHOWN = 4  # questions on the page
FEWEST = 60  # questions, however short the time is
MARGIN = 1.25  # of the time that questions need: machines are not even, and a person may ask one more
METRIC = {"en": METRICS["squad"], "ko": METRICS["korquad"]}  # by the language of the questions


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The scores of all columns, and the answers before and after of some questions."""

    measures: list[Measure]  # exact match and F1
    num_questions: int
    num_passages: int
    answers: list[TwoAnswers]


def with_random_weights(loaded: LoadedTask, start: Checkpoint) -> LoadedTask:
    """Return the same task with an encoder that learned nothing, and a head as it begins."""
    encoder = Encoder(loaded.model.encoder.config)
    initialize(encoder, encoder.config, seed=0, prefix="encoder")
    head = new_head(start, loaded.task, encoder, seed=0)
    return replace(loaded, model=TaskModel(loaded.task, encoder, head).eval())


def ask(models: Mapping[str, LoadedTask], data: SquadData, language: Language, num_questions: int) -> Asked:
    """Ask "init", "trained" and "control", and the lexical baseline, so many questions; FEWEST at least.

    Errors cluster by passage. In Korean F1 counts characters, as KorQuAD does, for words carry particles.
    """
    data = subset(data, max(FEWEST, num_questions))
    predictions = {name: answer(model, data) for name, model in models.items()}
    answers = {name: found.best() for name, found in predictions.items()}
    answers["lexical"] = {
        question.id: lexical_answer(question.text, data.context_of(question)) for question in data.questions
    }
    ids = [question.id for question in data.questions]
    scores = {name: raw_scores(data, found, METRIC[language]) for name, found in answers.items()}
    clusters, chosen = np.array([question.paragraph for question in data.questions]), np.ones(len(ids), dtype=bool)
    measures = []
    for key in ("exact", "f1"):
        columns = {name: 100.0 * np.array([getattr(one, key)[id_] for id_ in ids]) for name, one in scores.items()}
        measures.append(compare_columns(key, columns, clusters, chosen, "higher"))
    exact = {name: scores[name].exact for name in ("init", "trained")}
    return Asked(
        measures=measures,
        num_questions=len(ids),
        num_passages=len(set(clusters.tolist())),
        answers=two_answers(data, predictions, exact),
    )


def two_answers(
    data: SquadData, predictions: Mapping[str, Predictions], exact: Mapping[str, Mapping[str, float]]
) -> list[TwoAnswers]:
    """Return the questions that the adapted model answers most surely, one per passage, with both answers."""
    nbest = {name: predictions[name].nbest for name in ("init", "trained")}
    answered = [one for one in data.questions if nbest["init"][one.id] and nbest["trained"][one.id]]
    answered.sort(key=lambda one: -nbest["trained"][one.id][0].probability)
    shown: dict[int, TwoAnswers] = {}
    for one in answered:
        if one.paragraph in shown or len(shown) == SHOWN:
            continue
        gold = list(dict.fromkeys(expected.text for expected in one.answers))
        before, after = (
            replace(
                answer_record(one.text, data.context_of(one), nbest[name][one.id][0]),
                gold=gold,
                exact=bool(exact[name][one.id]),
            )
            for name in ("init", "trained")
        )
        shown[one.paragraph] = TwoAnswers(before=before, after=after)
    return list(shown.values())


def own_answer(question: str, paragraphs: Iterable[str], before: LoadedTask, after: LoadedTask) -> TwoAnswers | None:
    """Answer a person's question from the paragraphs that share most words with it; None where none does."""
    kept: Sequence[str] = [paragraph for paragraph in paragraphs if paragraph.strip()]
    near = [kept[index] for index in nearest_passages(question, kept)]
    first, second = (answer_question(question, near, model) for model in (before, after))
    return None if first is None or second is None else TwoAnswers(before=first, after=second)
