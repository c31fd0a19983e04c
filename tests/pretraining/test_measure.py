"""Losses of hidden tokens equal the plain formula, only the asked tokens count, and nothing leaks through."""

import numpy as np
import pytest
import torch

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.init import initialize
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.measure import facts_of, fill_sequence, score_hidden, to_batch
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.packs import Pack, Spans

MASK, CLS, SEP, V = 1, 2, 3, 50


def make_model(num_positions=15):
    config = EncoderConfig(
        vocab_size=V, hidden_size=16, num_layers=1, num_heads=2, intermediate_size=32, max_positions=32
    )
    encoder = Encoder(config)
    heads = {
        "mlm": MaskedLMHead(config, encoder.word_embedding),
        "sbo": SpanBoundaryHead(config, encoder.word_embedding, num_positions=num_positions),
    }
    model = PretrainingModel(encoder, heads, {"mlm": 1.0, "sbo": 1.0})
    initialize(model, config, seed=3)
    with torch.no_grad():
        encoder.word_embedding[:V] *= 20  # far from uniform, so that mistakes show
    return model


def mask_pack(pack, spans):
    hidden = hidden_tokens(pack, spans)
    input_ids = pack.input_ids.copy()
    input_ids[hidden.position] = MASK
    return Masked(pack=pack, spans=spans, hidden=hidden, input_ids=input_ids)


def make_masked():
    rng = np.random.default_rng(5)
    ids = np.concatenate([[CLS], rng.integers(5, V, 9), [SEP], [CLS], rng.integers(5, V, 6), [SEP]])
    maskable = ids >= 5
    pack = Pack(
        input_ids=ids.astype(np.int64),
        token_type_ids=np.zeros(len(ids), dtype=np.int64),
        borders=np.array([0, 11, 19]),
        maskable=maskable,
        starts_word=maskable,
        block_ids=np.array([0, 1]),
    )
    spans = Spans(sequence=np.array([0, 0, 1]), start=np.array([1, 6, 13]), end=np.array([2, 10, 15]))
    return mask_pack(pack, spans)


def test_losses_equal_log_softmax_by_hand():
    model, masked = make_model(), make_masked()

    scores = score_hidden(model, [masked])

    model.eval()
    with torch.no_grad():
        batch = to_batch(masked)
        hidden = model.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        weight, head = model.encoder.word_embedding[:V], model.heads["sbo"]
        for row, (position, span) in enumerate(zip(masked.hidden.position, masked.hidden.span, strict=True)):
            start, end = int(masked.spans.start[span]), int(masked.spans.end[span])
            inner = head.transform(
                hidden[start - 1 : start], hidden[end : end + 1], torch.tensor([int(position) - start])
            )
            target = int(masked.hidden.original_ids[row])
            by_hand = -(inner @ weight.T + head.bias[:V]).log_softmax(-1)[0, target]
            assert scores["sbo"].losses[row] == pytest.approx(float(by_hand), abs=1e-5)
            inner = model.heads["mlm"].transform(hidden[position : position + 1])
            by_hand = -(inner @ weight.T + model.heads["mlm"].bias[:V]).log_softmax(-1)[0, target]
            assert scores["mlm"].losses[row] == pytest.approx(float(by_hand), abs=1e-5)


def test_what_stands_behind_a_mask_changes_no_chance():
    model, masked = make_model(), make_masked()
    ids = masked.pack.input_ids.copy()
    ids[masked.hidden.position] = (ids[masked.hidden.position] + 7) % 40 + 5
    other = mask_pack(Pack(**{**masked.pack.__dict__, "input_ids": ids}), masked.spans)

    first, second = fill_sequence(model, masked, 0), fill_sequence(model, other, 0)

    assert first.guesses == second.guesses
    assert first.original_ids.tolist() != second.original_ids.tolist()


def test_places_beyond_the_position_table_are_not_asked_of_the_boundary_head():
    scores = score_hidden(make_model(num_positions=2), [make_masked()])

    assert scores["sbo"].asked.tolist() == [True, True, True, False, False, True, True]
    assert np.isnan(scores["sbo"].losses[~scores["sbo"].asked]).all()
    assert scores["mlm"].asked.all() and np.isfinite(scores["mlm"].losses).all()


def test_scores_come_in_the_order_of_the_facts_and_dropout_is_off():
    model, masked = make_model(), make_masked()
    model.train()

    once, again = score_hidden(model, [masked, masked]), score_hidden(model, [masked])

    assert model.training
    assert len(facts_of([masked, masked]).original_ids) == len(once["mlm"].losses) == 14
    np.testing.assert_allclose(once["mlm"].losses[:7], again["mlm"].losses, atol=1e-6)


def test_a_filled_sequence_lists_the_likeliest_tokens_of_each_place():
    filling = fill_sequence(make_model(), make_masked(), 1, top=3)

    assert filling.position.tolist() == [2, 3]
    assert set(filling.guesses) == {"mlm", "sbo", "both"}
    for places in filling.guesses.values():
        for guesses in places:
            chances = [chance for _, chance in guesses]
            assert len(guesses) == 3 and chances == sorted(chances, reverse=True) and 0 < sum(chances) <= 1.0001
