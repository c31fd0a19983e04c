"""A span of which one token is left takes its other tokens out of the pack, and every place follows its token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_packs import packs_of

from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.masking.shortening import shorten
from spanwise.pretraining.packs import Spans


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.booleans()), max_size=9), st.booleans())
def test_every_place_follows_its_token(drawn, stays):
    """Spans of 1 to 3 tokens, 0 to 2 tokens after the one before; the last of two sequences has none."""
    start, end, place = [], [], 1
    for size, space, _ in drawn:
        place += space
        start.append(place)
        end.append(place + size)
        place += size
    pack = packs_of(2, 50)
    pack = replace(pack, side={"tags": (pack.input_ids % 7).astype(np.uint8)})
    is_short = np.array([short for _, _, short in drawn], dtype=bool)
    spans = Spans(
        sequence=np.zeros(len(drawn), dtype=np.int64),
        start=np.array(start, dtype=np.int64),
        end=np.array(end, dtype=np.int64),
        num_drawn=len(drawn),
        group=np.where(is_short, 0, -1),
        kept=np.array([[48, 50]]),
    )
    read = pack.input_ids + 1000
    gone = [t for a, b, short in zip(start, end, is_short, strict=True) if short for t in range(a + 1, b)]
    tokens = np.setdiff1d(np.arange(len(read)), gone)

    shorter, left, hidden, input_ids = shorten(pack, spans, hidden_tokens(pack, spans), read, is_short, stays=stays)

    assert input_ids.tolist() == read[tokens].tolist()
    firsts = spans.start[is_short]
    questions = shorter.questions
    assert tokens[questions.start].tolist() == firsts.tolist() and (questions.end - questions.start == 1).all()
    assert tokens[left.start].tolist() == spans.start[~is_short].tolist()
    assert (left.end - left.start).tolist() == (spans.end - spans.start)[~is_short].tolist()
    assert left.group is None and (questions.group is None or tokens[questions.kept[0, 0]] == 48)
    assert shorter.input_ids[questions.start].tolist() == read[firsts].tolist()
    plain = ~np.isin(tokens, firsts)
    for name in ("input_ids", "token_type_ids", "maskable", "starts_word"):
        assert getattr(shorter, name)[plain].tolist() == getattr(pack, name)[tokens][plain].tolist()
    assert not shorter.maskable[~plain].any() and not shorter.starts_word[~plain].any()
    assert shorter.side["tags"].tolist() == pack.side["tags"][tokens].tolist()
    assert tokens[hidden.position].tolist() == [
        t for a, b, short in zip(start, end, is_short, strict=True) if not short for t in range(a, b)
    ]
    assert hidden.original_ids.tolist() == pack.input_ids[tokens[hidden.position]].tolist()
    assert ((left.start[hidden.span] <= hidden.position) & (hidden.position < left.end[hidden.span])).all()
    assert shorter.borders.tolist() == [0, 52 - len(gone), 104 - len(gone)]
    expected = tokens - np.where(tokens >= 52, 52, 0)
    assert shorter.positions.tolist() == expected.tolist() if stays else shorter.positions is None
