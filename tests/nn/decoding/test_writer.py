"""What a causal model writes is what reading the whole text at every step would give."""

import numpy as np
import pytest
import torch
from tests.nn.toy import toy_encoder

from spanwise.nn.decoding import writer
from spanwise.nn.decoding.writer import CausalModel, Choosing, Writing, chances
from spanwise.nn.sequences import Sequences

NOTHING = np.array([], dtype=np.int64)
PROMPTS = [[5], [6, 7, 8, 9], [10, 11], [12] * 9, [13, 5, 6]]


@pytest.fixture(scope="module")
def model():
    encoder = toy_encoder(causal=True, num_token_types=0, embedding_norm=False, max_positions=16)
    return CausalModel(encoder, 99)


def never(writing):
    return None


def written(model, prompts, choosing=Choosing(banned=NOTHING), *, new=5, ended=never):  # noqa: B008
    texts = [Writing(prompt=np.array(prompt), key=key) for key, prompt in enumerate(prompts)]
    model.write(texts, choosing, max_new_tokens=new, ended=ended)
    return texts


def next_scores(model, ids):
    ids = torch.tensor(ids)
    with torch.inference_mode():
        hidden = model.encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([len(ids)]))
        return (hidden[-1] @ model.encoder.word_embedding.T)[: model.num_ids]


def most_likely(model, prompt, new, window=None):
    ids = list(prompt)
    for _ in range(new):
        ids.append(int(next_scores(model, ids if window is None else window(ids)).argmax()))
    return ids[len(prompt) :]


def test_the_most_likely_tokens_follow_whatever_is_written_beside(model):
    found = written(model, PROMPTS)
    assert [text.new for text in found] == [most_likely(model, prompt, 5) for prompt in PROMPTS]
    assert all(text.reason == "max_new_tokens" and text.num_dropped == 0 for text in found)


def test_memory_decides_how_many_are_written_side_by_side_and_nothing_else(model, monkeypatch):
    expected = [text.new for text in written(model, PROMPTS)]
    monkeypatch.setattr(writer, "MAX_ROWS", 2)
    assert [text.new for text in written(model, PROMPTS)] == expected
    monkeypatch.setattr(writer, "CACHE_BYTES", 1)
    assert [text.new for text in written(model, PROMPTS)] == expected


def test_texts_that_end_leave_and_the_others_go_on(model):
    plain = [text.new for text in written(model, PROMPTS)]

    def ended(writing):
        return "stop_token" if len(writing.new) >= len(writing.prompt) else None

    found = written(model, PROMPTS, ended=ended)
    assert [text.new for text in found] == [new[: len(prompt)] for new, prompt in zip(plain, PROMPTS, strict=True)]
    assert [text.reason for text in found] == ["stop_token"] * 3 + ["max_new_tokens", "stop_token"]


def test_a_window_that_is_full_moves_on_and_says_what_it_dropped(model):
    """16 positions: a full window keeps its newer half, and so it is read anew every 8 tokens or so."""
    found = written(model, [[5, 6, 7], [8] * 30], new=20)
    short, long = found
    assert (short.num_windows, long.num_windows) == (2, 3) and len(short.new) == len(long.new) == 20
    assert short.new[:14] == most_likely(model, [5, 6, 7], 14)
    # token 15 is the first that is chosen after the oldest left: 17 tokens, 6 more to write
    context = [5, 6, 7, *short.new[:14]]
    kept = 16 + 1 - 6
    assert short.num_dropped == 17 - kept
    assert short.new[14] == int(next_scores(model, context[-kept:]).argmax())
    assert long.new[0] == int(next_scores(model, [8] * 9).argmax()) and long.num_dropped > 30 - 9


def test_one_position_is_enough_to_go_on(model):
    encoder = toy_encoder(causal=True, num_token_types=0, embedding_norm=False, max_positions=1)
    tiny = CausalModel(encoder, 99)
    found = written(tiny, [[5, 6]], new=4)[0]
    assert found.new == most_likely(tiny, [5, 6], 4, window=lambda ids: ids[-1:]) and found.num_dropped == 4


def test_banned_ids_and_rows_without_a_token_are_never_written(model):
    free = written(model, PROMPTS)
    banned = np.array(sorted({token for text in free for token in text.new}))
    again = written(model, PROMPTS, Choosing(banned=banned))
    assert not {token for text in again for token in text.new} & set(banned.tolist())
    few = CausalModel(model.encoder, 20)
    assert max(token for text in written(few, PROMPTS, new=8) for token in text.new) < 20


def test_drawn_texts_depend_on_their_key_alone(model):
    choosing = Choosing(banned=NOTHING, sample=True, temperature=1.5)
    found = written(model, PROMPTS, choosing)
    alone = Writing(prompt=np.array(PROMPTS[3]), key=3)
    model.write([alone], choosing, max_new_tokens=5, ended=never)
    assert alone.new == found[3].new
    other = Writing(prompt=np.array(PROMPTS[3]), key=77)
    model.write([other], choosing, max_new_tokens=5, ended=never)
    assert other.new != alone.new


def test_draws_follow_the_chances_of_the_model(model):
    """Of 4,000 draws each of the five best ids comes as often as its chance says, within 4 sigma."""
    texts = [Writing(prompt=np.array([5, 6]), key=1000 + key) for key in range(4000)]
    model.write(texts, Choosing(banned=NOTHING, sample=True, top_k=5), max_new_tokens=1, ended=never)
    best, places = next_scores(model, [5, 6]).topk(5)
    expected = torch.softmax(best, 0)
    drawn = [text.new[0] for text in texts]
    assert set(drawn) <= set(places.tolist())
    for place, chance in zip(places.tolist(), expected.tolist(), strict=True):
        assert abs(drawn.count(place) - 4000 * chance) < 4 * (4000 * chance * (1 - chance)) ** 0.5 + 1


def test_chances_are_softmax_with_temperature_over_the_best():
    scores = torch.tensor([[1.0, 3.0, 2.0, float("-inf")], [0.0, 0.0, 0.0, 5.0]])
    found = chances(scores, 2, 0.5)
    assert found.shape == (2, 64) and found.dtype == torch.float64
    torch.testing.assert_close(found[0, :3], torch.softmax(torch.tensor([-torch.inf, 6.0, 4.0]).double(), 0))
    assert (found[1] > 0).sum() == 2 and found.sum(-1).allclose(torch.ones(2).double())
    assert torch.equal(chances(scores, 99, 1.0), chances(scores, None, 1.0))
