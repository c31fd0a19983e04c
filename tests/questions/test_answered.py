"""Questions whose answer a model finds are kept, in batches, in order."""

from types import SimpleNamespace

import pytest

from spanwise.errors import ConfigError
from spanwise.questions import answered
from spanwise.questions.answered import AnswerFilter
from spanwise.questions.document import Maker
from spanwise.questions.english import EnglishRules
from spanwise.text.corpus import Document


@pytest.fixture
def reader(monkeypatch):
    """A model that answers "Harlow" to everything but what `knows` says; `asked` are the sizes of its batches."""
    model = SimpleNamespace(knows={}, asked=[])

    def answers(loaded, data, precision):
        model.asked.append(len(data.questions))
        best = {question.id: model.knows.get(question.text, "Harlow") for question in data.questions}
        return SimpleNamespace(best=lambda: best)

    monkeypatch.setattr(answered, "load_task_model", lambda *given, **named: None)
    monkeypatch.setattr(answered, "answers_of", answers)
    return model


def documents(english, **options):
    maker = Maker(rules=EnglishRules(), **options)
    texts = [english, [text.replace("Clara", "Anna") for text in english]]
    return [(Document("a", n, []), list(maker.questions(text, n))) for n, text in enumerate(texts)]


def test_only_found_answers_stay_and_the_others_are_counted(english, reader):
    given = documents(english)
    right = given[0][1][0]
    reader.knows = {right.question: f"the {right.answer}."}  # articles and points do not count, as in SQuAD's F1
    keep = AnswerFilter(model="m")
    kept = list(keep.kept(given))
    assert [document.line for document, _ in kept] == [0, 1]
    for (_, questions), (_, before) in zip(kept, given, strict=True):
        assert questions == [made for made in before if made is right or made.answer == "Harlow"]
    assert keep.num_dropped == sum(len(made) for _, made in given) - sum(len(made) for _, made in kept) > 0


def test_a_lower_bound_keeps_answers_found_in_part(english, reader):
    given = documents(english)
    part = next(made for _, questions in given for made in questions if made.answer == "Clara Winter")
    reader.knows = {part.question: "Winter"}
    assert part not in next(AnswerFilter(model="m", min_f1=70).kept(given))[1]
    assert part in next(AnswerFilter(model="m", min_f1=60).kept(given))[1]


def test_questions_without_an_answer_stay_and_are_not_asked(english, reader):
    given = documents(english, impossible=0.7)
    lost = [made for _, questions in given for made in questions if made.start < 0]
    kept = [made for _, questions in AnswerFilter(model="m").kept(given) for made in questions]
    assert lost
    assert [made for made in kept if made.start < 0] == lost
    assert sum(reader.asked) == sum(len(questions) for _, questions in given) - len(lost)


def test_documents_are_asked_in_batches(english, reader, monkeypatch):
    monkeypatch.setattr(answered, "BATCH", 1)
    given = documents(english)
    list(AnswerFilter(model="m").kept(iter(given)))
    assert reader.asked == [len(questions) for _, questions in given]


def test_a_bound_above_100_is_refused(reader):
    with pytest.raises(ConfigError, match="101"):
        AnswerFilter(model="m", min_f1=101)
