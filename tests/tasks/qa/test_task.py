"""Question answering as a task: options derived, thresholds tuned, mismatches refused."""

import dataclasses

import numpy as np
import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.qa.data import Answer, Question
from spanwise.tasks.qa.ranking import Predictions, SpanAnswer
from spanwise.tasks.qa.task import QuestionAnswering

CONFIG = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8, max_positions=96)


def predictions(texts, odds):
    nbest = {id: (SpanAnswer(text, 0, len(text), 1.0, 1.0),) if text else () for id, text in texts.items()}
    return Predictions(nbest=nbest, null_odds=odds)


def test_windows_are_as_long_as_the_paper_or_a_smaller_encoder_allows(tokenizer, squad11):
    large = dataclasses.replace(CONFIG, max_positions=1024)
    assert QuestionAnswering().featurize(squad11, tokenizer, CONFIG, training=True).lengths_W.max() <= 96
    assert len(QuestionAnswering().featurize(squad11, tokenizer, large, training=True)) == len(squad11.questions)
    with pytest.raises(ConfigError, match="encoder's 96 positions"):
        QuestionAnswering(max_length=97).featurize(squad11, tokenizer, CONFIG, training=True)


def test_the_threshold_of_best_f1_is_tuned_on_dev_data_with_unanswerable_questions(squad11, squad20):
    found = predictions(
        {"length": "494 km", "bridge": "1900", "arms": "Seoul", "tea": "April", "price": "April"},
        {"length": -5.0, "bridge": -4.0, "arms": 2.0, "tea": 0.5, "price": 1.0},
    )
    task = QuestionAnswering(null_threshold=0.0).tune(squad20, found)
    assert task.null_threshold == 0.75  # halfway between the last answer that is told and the first that is not
    scores = task.score(squad20, found)
    assert (scores["exact"], scores["best_f1_thresh"], scores["NoAns_exact"]) == (80.0, 0.5, 100.0)
    assert QuestionAnswering(null_threshold=0.0).tune(squad11, found).null_threshold is None
    assert task.prediction_files(found)[""]["price"] == ""


def test_a_set_where_everything_is_null_is_scored_without_a_crash(squad20):
    none = dataclasses.replace(squad20, questions=tuple(q for q in squad20.questions if not q.answers))
    found = predictions({"price": ""}, {"price": 3.0})
    scores = QuestionAnswering(null_threshold=0.0).tune(none, found).score(none, found)
    assert (scores["exact"], scores["NoAns_total"]) == (100.0, 1)


def test_a_model_that_was_never_taught_to_abstain_is_not_scored_on_2_0_data(squad11, squad20):
    found = predictions({question.id: "April" for question in squad20.questions}, {})
    with pytest.raises(DataError, match="fine-tuned without any"):
        QuestionAnswering().score(squad20, found)
    taught = QuestionAnswering().taught_by(squad20)
    assert taught.null_threshold == 0.0
    assert QuestionAnswering(null_threshold=-2.0).taught_by(squad20).null_threshold == -2.0
    assert taught.taught_by(squad11).null_threshold is None


def test_train_and_dev_files_of_two_kinds_are_refused(squad11, squad20):
    QuestionAnswering().check_pair(squad11, squad11)
    for train, dev in ((squad11, squad20), (squad20, squad11)):
        with pytest.raises(DataError, match=r"han-2\.0\.json holds questions without an answer"):
            QuestionAnswering().check_pair(train, dev)


def test_the_description_counts_what_is_cut_or_left_out(tokenizer, squad11):
    task = QuestionAnswering(max_question_tokens=5)
    features = task.featurize(squad11, tokenizer, CONFIG, training=True)
    moved = dataclasses.replace(squad11, num_moved_answers=2)
    text = "\n".join(task.describe(moved, features))
    assert "4 questions on 2 paragraphs" in text
    assert "4 questions are cut to 5 tokens" in text and "2 answers were moved" in text


def test_decoding_takes_the_tasks_own_limits(tokenizer, squad11):
    task = QuestionAnswering(max_answer_tokens=1, num_best=2)
    features = task.featurize(squad11, tokenizer, CONFIG, training=False)
    draw = np.random.default_rng(0)
    found = task.decode(squad11, features, [draw.normal(size=(n, 2)) for n in features.lengths_W])
    assert all(len(answers) == 2 for answers in found.nbest.values())


@pytest.mark.parametrize("name", ["doc_stride", "max_question_tokens", "max_answer_tokens", "num_best"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(ConfigError, match=name):
        QuestionAnswering(**{name: 0})


def test_the_description_says_what_the_vocabulary_cannot_reach(tokenizer, squad11):
    cut = dataclasses.replace(
        squad11, questions=(dataclasses.replace(squad11.questions[0], answers=(Answer("94 k", 1),)),)
    )
    cut = dataclasses.replace(cut, contexts=("494 km", *squad11.contexts[1:]))
    task = QuestionAnswering()
    features = task.featurize(cut, tokenizer, CONFIG, training=True)
    assert features.reach.num_answerable == 1
    said = [line for line in task.describe(cut, features) if "exact match cannot pass" in line]
    assert len(said) == 1 and task.describe_dev(cut, features) == [f"{cut.source}: {said[0]}"]


def test_the_card_says_how_no_answer_is_told_and_whether_probabilities_are_calibrated():
    plain = QuestionAnswering().facts(CONFIG)
    assert "in windows of 96 tokens" in plain[0]  # all that CONFIG's encoder has positions for
    assert len(plain) == 1 and "every question gets an answer" in plain[0] and "chosen apart" in plain[0]
    electra = QuestionAnswering(spans="joint", answerability="classifier", null_threshold=-2.75, temperature=1.5)
    told = electra.facts(CONFIG)
    assert "given its start" in told[0] and "classifier's log-odds above -2.75" in told[0]
    assert "divided by 1.5" in told[1]
    assert "null odds above 0.5" in QuestionAnswering(null_threshold=0.5).facts(CONFIG)[0]


def test_a_temperature_is_fitted_on_dev_data_and_told_with_the_scores(squad11):
    questions, nbest = [], {}
    draw = np.random.default_rng(0)
    for number in range(400):
        gap = draw.gamma(2.0, 2.0)
        right = draw.random() < 1 / (1 + np.exp(-gap / 3.0))  # as often as a temperature of three says
        texts = ("April", "May") if right else ("May", "April")
        id = str(number)
        questions.append(Question(id, "When?", 0, (Answer("April", -1),)))
        nbest[id] = tuple(SpanAnswer(text, 0, 1, -k * gap, 0.5) for k, text in enumerate(texts))
    data = dataclasses.replace(squad11, questions=tuple(questions))
    found = Predictions(nbest=nbest, null_odds=dict.fromkeys(nbest, 0.0))
    before = QuestionAnswering().score(data, found)["calibration"]
    task = QuestionAnswering().tune(data, found)
    after = task.score(data, found)["calibration"]
    assert task.temperature == pytest.approx(3.0, rel=0.35) and task.null_threshold is None
    assert before["temperature"] is None and after["temperature"] == task.temperature
    assert after["error"] < before["error"]
    assert any("expected calibration error" in note for note in task.score_table(task.score(data, found)).notes)
    told = task.with_probabilities(nbest["0"], 0.0)
    assert [one.text for one in told] == [one.text for one in nbest["0"]]
    assert sum(one.probability for one in told) == pytest.approx(1.0)


def test_no_answer_stands_in_its_place_among_the_answers():
    answers = (SpanAnswer("Han", 0, 3, 4.0, 0.5), SpanAnswer("Seoul", 4, 9, 1.0, 0.5))
    task = QuestionAnswering(null_threshold=0.5)
    for odds, place in ((2.0, 0), (0.4, 1), (-9.0, 2)):
        told = task.with_probabilities(answers, odds)
        assert [one.text for one in told].index("") == place and len(told) == 3
        assert [one.probability for one in told] == sorted((one.probability for one in told), reverse=True)
    assert [one.text for one in QuestionAnswering().with_probabilities(answers, 2.0)] == ["Han", "Seoul"]
