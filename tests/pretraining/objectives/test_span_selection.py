"""Selection asks every question for its answer, with the loss that is written down and exact gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from real_text import real_pack
from toy_packs import texts_of

from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.collate import Collator, PackParts
from spanwise.pretraining.describe import head_costs
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import QuestionTokens, RecurringGroups, Replacement, TwoMaskings
from spanwise.pretraining.mixtures.mixed_source import join_masked
from spanwise.pretraining.objectives import MaskedLM, SpanSelection

LINES = ["Denver was old or Denver is new and Denver", "the sea or the sea and the sea", "nothing comes twice here"]


class InMemory:
    """What a collator asks of a store when its packs are made already."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, self.side_arrays = vocabulary, {}


def masked_of(pack, vocabulary, ratio=0.5, following="moves_up"):
    question = int(np.flatnonzero(vocabulary.is_special)[-1])
    collator = Collator(
        InMemory(replace(vocabulary, roles={"question": question})),
        PackParts(
            format=SingleSegment(max_length=512),
            masking=RecurringGroups(ratio=ratio, frequent_share=1.0),
            replacement=QuestionTokens(following=following),
            objectives={"span_selection": SpanSelection()},
        ),
        seed=3,
    )
    return collator, collator.mask(pack, 0)


@pytest.mark.parametrize("following", ["moves_up", "stays"])
def test_targets_are_the_occurrences_that_stand(vocabulary, following):
    pack, _ = texts_of(LINES)
    _, masked = masked_of(pack, vocabulary, following=following)
    targets = SpanSelection().targets(masked.pack)
    chosen = masked.chosen
    assert targets.count == len(chosen.start) > 3
    assert targets.pointers.counts == tuple(np.bincount(chosen.sequence, minlength=3).tolist())
    assert targets.pointers.counts[2] == 0
    for q, m in enumerate(range(len(chosen.start))):
        answer = masked.input_ids[targets.first[q] : targets.last[q] + 1].tolist()
        assert answer == pack.input_ids[chosen.start[m] : chosen.end[m]].tolist()
        assert masked.input_ids[targets.questions[q]] == 4  # the question token
        sequence = np.searchsorted(masked.pack.borders, int(targets.questions[q]), side="right")
        assert sequence == np.searchsorted(masked.pack.borders, int(targets.last[q]), side="right")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_answer_of_real_text_is_what_its_question_replaced(language):
    pack, _, vocabulary = real_pack(language)
    collator, masked = masked_of(pack, vocabulary, ratio=0.15)
    targets = collator.batch(masked).targets["span_selection"]
    assert targets.count == len(masked.chosen.start) > 60 * 15
    is_question_T = np.isin(np.arange(len(masked.input_ids)), targets.questions)
    for q in range(targets.count):
        first, last = int(targets.first[q]), int(targets.last[q])
        span = pack.input_ids[masked.chosen.start[q] : masked.chosen.end[q]]
        assert masked.input_ids[first : last + 1].tolist() == span.tolist()
        assert not is_question_T[first : last + 1].any()  # an answer is never inside a question


def scorer_of():
    """A head with every parameter far from where it starts, those of norms too."""
    head = SpanSelection().build(
        Encoder(EncoderConfig(vocab_size=200, hidden_size=16, num_layers=1, num_heads=2, intermediate_size=32))
    )
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    return head


def written_down(parameters, borders, targets, hidden):
    """The paper's loss in float64, one question at a time; and how many questions find both ends."""

    def transformed(name, rows):
        inner = F.gelu(rows @ parameters[f"{name}.dense.weight"].t() + parameters[f"{name}.dense.bias"])
        return F.layer_norm(inner, inner.shape[-1:], parameters[f"{name}.norm.weight"], parameters[f"{name}.norm.bias"])

    total, right = torch.zeros((), dtype=torch.float64), 0
    for question, first, last in zip(targets.questions, targets.first, targets.last, strict=True):
        s = int(np.searchsorted(borders, int(question), side="right")) - 1
        tokens, found = hidden[borders[s] : borders[s + 1]], []
        for end, gold in (("start", int(first)), ("end", int(last))):
            asked = parameters[f"{end}.weight"] @ transformed(f"query_{end}", hidden[question])
            scores = transformed(f"token_{end}", tokens) @ asked
            total = total - scores.log_softmax(0)[gold - borders[s]] / 2
            found.append(int(scores.argmax()) == gold - borders[s])
        right += all(found)
    return total, right


@pytest.mark.parametrize("following", ["moves_up", "stays"])
def test_loss_and_gradients_are_those_of_the_written_formula(vocabulary, following):
    pack, _ = texts_of(LINES)
    _, masked = masked_of(pack, vocabulary, following=following)
    targets, head = SpanSelection().targets(masked.pack), scorer_of()
    hidden = torch.randn(len(masked.input_ids) + 5, 16, requires_grad=True)  # filler behind
    names, tensors = zip(*head.named_parameters(), strict=True)
    twins = [tensor.detach().double().requires_grad_() for tensor in (hidden, *tensors)]

    found = head(hidden, targets)
    expected, right = written_down(dict(zip(names, twins[1:], strict=True)), masked.pack.borders, targets, twins[0])

    torch.testing.assert_close(found.sum.double(), expected, rtol=1e-5, atol=1e-5)
    assert int(found.num_correct) == right
    gradients = torch.autograd.grad(found.sum, [hidden, *tensors])
    for gradient, exact in zip(gradients, torch.autograd.grad(expected, twins), strict=True):
        torch.testing.assert_close(gradient.double(), exact, rtol=1e-4, atol=1e-4)


def test_a_pack_without_questions_costs_nothing_and_reaches_every_parameter(vocabulary):
    pack, _ = texts_of(LINES[2:])
    _, masked = masked_of(pack, vocabulary)
    targets = SpanSelection().targets(masked.pack)
    head = scorer_of()
    hidden = torch.randn(len(masked.input_ids), 16, requires_grad=True)
    loss = head(hidden, targets)
    gradients = torch.autograd.grad(loss.sum, [hidden, *head.parameters()])
    assert targets.count == 0 and loss.sum.item() == 0.0 and int(loss.num_correct) == 0
    assert all(not gradient.any() for gradient in gradients)


def test_a_group_without_an_answer_asks_nothing(vocabulary):
    pack, _ = texts_of(LINES)
    _, masked = masked_of(pack, vocabulary)
    questions = masked.pack.questions
    lost = questions.group[0]
    kept = questions.kept.copy()
    kept[lost] = -1
    targets = SpanSelection().targets(replace(masked.pack, questions=replace(questions, kept=kept)))
    assert targets.count == (questions.group != lost).sum() < len(questions.start)


def test_a_pack_that_no_replacement_shortened_is_refused():
    pack, _ = texts_of(LINES)
    with pytest.raises(ConfigError, match="has no questions; replace spans by QuestionTokens"):
        SpanSelection().targets(pack)


def test_packs_of_several_stores_ask_their_own_questions(vocabulary):
    packs = [texts_of(LINES)[0], texts_of(LINES[1:])[0]]
    parts = [masked_of(pack, vocabulary)[1] for pack in packs]
    whole = SpanSelection().targets(join_masked(parts).pack)
    alone = [SpanSelection().targets(part.pack) for part in parts]
    shift = len(parts[0].input_ids)
    assert whole.count == alone[0].count + alone[1].count
    for name in ("questions", "first", "last"):
        expected = torch.cat([getattr(alone[0], name), getattr(alone[1], name) + shift])
        assert torch.equal(getattr(whole, name), expected)
    assert whole.pointers.counts == alone[0].pointers.counts + alone[1].pointers.counts


def test_masked_words_are_learned_beside_it(vocabulary):
    pack, _, real = real_pack("en")
    parts = PackParts(
        format=SingleSegment(max_length=512),
        masking=TwoMaskings(),
        replacement=QuestionTokens(others=Replacement()),
        objectives={"mlm": MaskedLM(), "span_selection": SpanSelection()},
    )
    collator = Collator(InMemory(replace(real, roles={"question": 4})), parts, seed=0)
    batch = collator.batch(collator.mask(pack, 0))
    assert batch.counts["span_selection"] > 60 * 15 and batch.counts["mlm"] > 60 * 50
    read = set(batch.targets["mlm"].positions.tolist())
    assert not read & set(batch.targets["span_selection"].questions.tolist())


def test_the_cost_is_that_of_its_products():
    """At 512 tokens: two D x D per token, four per question, and two rows of 512 products of D."""
    head = scorer_of()
    ((targets, weights),) = head_costs({"span_selection": SpanSelection()}, {"span_selection": head}, 200, 512.0, 0.15)
    assert targets == 1.0 and weights == round(2 * 16**2 + 30 / 512 * (4 * 16**2 + 2 * 512 * 16))
    assert SpanSelection().targets_per_token(100.0) == 0.15
