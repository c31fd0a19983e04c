"""The packed loss is the padded loss, without padding."""

import numpy as np
import pytest
import torch
from tests.nn.toy import toy_config
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.init import initialize
from spanwise.nn.sequences import Sequences
from spanwise.tasks.batches import Packing
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.loss import SpanTargets, WindowScores, head_loss, span_loss
from spanwise.tasks.qa.task import QuestionAnswering

LENGTHS = (5, 1, 9)
POSITIONS = ((2, 3), (0, 0), (0, 8))


def packed(scale: float = 1.0):
    torch.manual_seed(0)
    logits = (scale * torch.randn(sum(LENGTHS), 2)).requires_grad_()
    starts = [sum(LENGTHS[:k]) for k in range(len(LENGTHS))]
    first, last = ([start + pair[end] for start, pair in zip(starts, POSITIONS, strict=True)] for end in (0, 1))
    return logits, SpanTargets(torch.tensor(first), torch.tensor(last)), Sequences.from_lengths(LENGTHS)


def test_the_sum_over_windows_equals_cross_entropy_window_by_window_with_its_gradient():
    for scale in (1.0, 300.0):
        logits, targets, sequences = packed(scale)
        loss = span_loss(logits, targets, sequences)
        (gradient,) = torch.autograd.grad(loss.sum, logits)
        expected = sum(
            (
                cross_entropy(window[None, :, 0], torch.tensor([a]))
                + cross_entropy(window[None, :, 1], torch.tensor([b]))
            )
            / 2
            for window, (a, b) in zip(logits.split(LENGTHS), POSITIONS, strict=True)
        )
        (expected_gradient,) = torch.autograd.grad(expected, logits)
        torch.testing.assert_close(loss.sum, expected)
        torch.testing.assert_close(gradient, expected_gradient)


def test_correct_windows_are_those_with_both_ends_on_top():
    logits, targets, sequences = packed()
    with torch.no_grad():
        logits.zero_()
        logits[targets.first_G, 0] = 1.0
        logits[targets.last_G[:2], 1] = 1.0
        logits[7, 1] = 1.0  # the last window's end is beaten
    assert int(span_loss(logits, targets, sequences).num_correct) == 2


def test_half_precision_logits_are_summed_in_fp32():
    logits, targets, sequences = packed()
    assert span_loss(logits.bfloat16(), targets, sequences).sum.dtype == torch.float32


def several(scale: float = 1.0):
    """The windows of `packed` with one, two and three gold answers."""
    logits, _, sequences = packed(scale)
    pairs = ((2, 3), (5, 5), (5, 5), (6, 8), (7, 7), (6, 14))
    first, last = (torch.tensor([pair[end] for pair in pairs]) for end in (0, 1))
    return logits, SpanTargets(first, last, borders_S=torch.tensor([0, 1, 3, 6])), sequences


def log_probabilities(logits, sequences, first, last):
    """Of each gold span, by its window."""
    found = []
    borders = sequences.cu_seqlens.tolist()
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        k = max(place for place, border in enumerate(borders) if border <= a)
        window = logits[borders[k] : borders[k + 1]].log_softmax(0)
        found.append(window[a - borders[k], 0] + window[b - borders[k], 1])
    return torch.stack(found)


def test_several_gold_answers_share_one_loss_of_their_summed_probability():
    logits, targets, sequences = several(3.0)
    loss = span_loss(logits, targets, sequences)
    found = log_probabilities(logits, sequences, targets.first_G, targets.last_G)
    expected = -0.5 * sum(found[a:b].logsumexp(0) for a, b in ((0, 1), (1, 3), (3, 6)))
    torch.testing.assert_close(loss.sum, expected)
    gradients = [torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (loss.sum, expected)]
    torch.testing.assert_close(*gradients)


def test_one_gold_answer_each_is_the_same_loss_by_either_way():
    logits, targets, sequences = packed()
    listed = SpanTargets(targets.first_G, targets.last_G, borders_S=torch.arange(4))
    one, other = span_loss(logits, targets, sequences), span_loss(logits, listed, sequences)
    torch.testing.assert_close(one.sum, other.sum)
    assert one.num_correct == other.num_correct


def facts(impossible=(0.0, 1.0, 0.0)):
    """Passages behind a question of one token in windows of LENGTHS; the middle window has none."""
    passage = torch.tensor([[2, 5], [6, 6], [8, 15]])
    return {"passage_S2": passage, "impossible_S": torch.tensor(impossible)}


def test_joint_spans_and_the_classifier_are_written_out_window_by_window():
    torch.manual_seed(1)
    head = QuestionAnsweringHead(toy_config(), joint=True, answerable=True)
    hidden = torch.randn(sum(LENGTHS), 32)
    sequences = Sequences.from_lengths(LENGTHS)
    first, last = torch.tensor([2, 5, 8, 9]), torch.tensor([4, 5, 8, 14])
    targets = SpanTargets(first, last, borders_S=torch.tensor([0, 1, 2, 4]), **facts())
    loss = head_loss(head, hidden, targets, sequences, 0.5)

    expected = 0.0
    golds = [[(2, 4)], [(5, 5)], [(8, 8), (9, 14)]]
    for cls, (a, b), spans, label in zip((0, 5, 6), ((2, 5), (6, 6), (8, 15)), golds, (0.0, 1.0, 0.0), strict=True):
        rows = [cls, *range(a, b)]
        tokens = hidden[rows]
        start = head.start_scores(tokens).log_softmax(0)
        parts = []
        for s, e in spans:
            ends = head.end_scores(hidden[s][None], tokens)[0].log_softmax(0)
            parts.append(start[rows.index(s)] + ends[rows.index(e)])
        expected = expected - 0.5 * torch.stack(parts).logsumexp(0)
        mean = (start.exp()[:, None] * tokens).sum(0)
        odds = head.answerable(hidden[cls][None], mean[None])[0]
        expected = expected + 0.5 * binary_cross_entropy_with_logits(odds, torch.tensor(label))
    torch.testing.assert_close(loss.sum, expected)
    for parameter in head.parameters():
        assert torch.autograd.grad(loss.sum, parameter, retain_graph=True)[0].abs().sum() > 0


def test_a_classifier_beside_independent_spans_adds_its_loss():
    torch.manual_seed(1)
    head = QuestionAnsweringHead(toy_config(), answerable=True)
    hidden, sequences = torch.randn(sum(LENGTHS), 32), Sequences.from_lengths(LENGTHS)
    _, targets, _ = packed()
    targets = SpanTargets(targets.first_G, targets.last_G, **facts())
    spans = span_loss(head(hidden), targets, sequences)
    odds = head.answerable(hidden[[0, 5, 6]])
    error = binary_cross_entropy_with_logits(odds, targets.impossible_S, reduction="sum")
    torch.testing.assert_close(head_loss(head, hidden, targets, sequences, 2.0).sum, spans.sum + 2.0 * error)


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
    alone = model.outputs(features, packing=Packing(1))
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
