"""What heads of every form say of a window, and what decoding makes of it."""

import numpy as np
import pytest
import torch

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.outputs import WindowScores
from spanwise.tasks.qa.task import QuestionAnswering

FORMS = {
    "bert": {},
    "roberta": {"answerability": "classifier"},
    "electra": {"spans": "joint", "answerability": "classifier"},
    "joint": {"spans": "joint"},
}


def model_of(tokenizer, beam_size=20, **options):
    shape = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "intermediate_size": 32, "max_positions": 64}
    config = EncoderConfig(vocab_size=tokenizer.vocab_size, **shape)
    task = QuestionAnswering(doc_stride=16, max_question_tokens=12, beam_size=beam_size, null_threshold=0.0, **options)
    encoder, head = Encoder(config), task.build_head(config)
    for part, prefix in ((encoder, "encoder"), (head, "qa")):
        initialize(part, config, seed=3, prefix=prefix)
    with torch.no_grad():
        for parameter in [*encoder.parameters(), *head.parameters()]:
            if parameter.ndim == 2:
                parameter.mul_(8.0)  # so that scores differ
    return TaskModel(task, encoder, head).eval()


def said_by(model, data, tokenizer):
    features = model.task.featurize(data, tokenizer, model.encoder.config, training=False)
    return features, model.outputs(features)


@pytest.mark.parametrize("form", FORMS)
def test_outputs_do_not_depend_on_what_shares_the_pack(tokenizer, squad20, form):
    model = model_of(tokenizer, **FORMS[form])
    features, together = said_by(model, squad20, tokenizer)
    alone = model.outputs(features, pack_tokens=1)
    assert len(together) == len(features) > len(squad20.questions)
    for one, other in zip(map(WindowScores.of, together), map(WindowScores.of, alone), strict=True):
        np.testing.assert_allclose(one.logits_L2, other.logits_L2, atol=1e-5)
        assert (one.impossible is None) is (model.task.answerability == "null_score")
        assert one.impossible == pytest.approx(other.impossible, abs=1e-5)
        assert one.null_score == pytest.approx(other.null_score, abs=1e-4)


def test_the_joint_form_gives_probabilities_of_the_first_token_and_the_passage_alone(tokenizer, squad20):
    model = model_of(tokenizer, beam_size=5, **FORMS["electra"])
    features, said = said_by(model, squad20, tokenizer)
    for row, one in enumerate(said):
        start = features.passage_start(row)
        shown = np.zeros(features.lengths_W[row], dtype=bool)
        shown[[0, *range(start, start + features.last_W[row] - features.first_W[row])]] = True
        for log_p_L in (*one.logits_L2.T, *one.ends_BL):
            assert np.exp(log_p_L[shown]).sum() == pytest.approx(1.0, abs=1e-4)
            assert np.isneginf(log_p_L[~shown]).all()
        in_passage = np.flatnonzero(shown)[1:]
        best = in_passage[np.argsort(-one.logits_L2[in_passage, 0], kind="stable")[:5]]
        assert one.starts_B.tolist() == best.tolist()


def test_joint_candidates_equal_a_search_over_starts_and_ends(tokenizer, squad20):
    model = model_of(tokenizer, beam_size=1000, **FORMS["electra"])
    features, said = said_by(model, squad20, tokenizer)
    predictions = model.task.decode(squad20, features, said)
    for number, question in enumerate(squad20.questions):
        rows = np.flatnonzero(features.question_W == number)
        passage, context = features.passage(rows[0]), squad20.context_of(question)
        best: dict[str, float] = {}
        for row in rows:
            shift = features.passage_start(row) - features.first_W[row]
            one = said[row]
            for place, ends_L in zip(one.starts_B, one.ends_BL, strict=True):
                first = place - shift
                for last in range(first, min(first + 30, features.last_W[row])):
                    text = context[passage.offsets[first][0] : passage.offsets[last][1]]
                    value = float(one.logits_L2[place, 0]) + float(ends_L[last + shift])
                    best[text] = max(value, best.get(text, -np.inf))
        if len(rows) == 1:  # several windows: each start counts in one of them only
            top = sorted(best.values(), reverse=True)[:20]
            assert [answer.score for answer in predictions.nbest[question.id]] == pytest.approx(top)
        assert all(answer.text in best for answer in predictions.nbest[question.id])
        assert predictions.null_odds[question.id] == min(said[row].impossible for row in rows)


@pytest.mark.parametrize("form", ["joint", "bert"])
def test_without_a_classifier_the_null_score_is_that_of_the_first_token(tokenizer, squad20, form):
    model = model_of(tokenizer, **FORMS[form])
    features, said = said_by(model, squad20, tokenizer)
    predictions = model.task.decode(squad20, features, said)
    for number, question in enumerate(squad20.questions):
        rows = np.flatnonzero(features.question_W == number)
        null = min(WindowScores.of(said[row]).null_score for row in rows)
        expected = null - predictions.nbest[question.id][0].score
        assert predictions.null_odds[question.id] == pytest.approx(expected)


def test_a_small_beam_whose_starts_lie_elsewhere_still_gives_an_answer(tokenizer, squad20):
    model = model_of(tokenizer, beam_size=1, **FORMS["electra"])
    predictions = model.task.decode(squad20, *said_by(model, squad20, tokenizer))
    assert all(predictions.best().values())
