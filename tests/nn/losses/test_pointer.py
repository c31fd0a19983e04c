"""The flat softmax against torch's own cross-entropy, pointer by pointer, with its gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.nn.losses import pointer
from spanwise.nn.losses.pointer import ManyPointers, log_softmax, loss_of_any, point, pointer_loss
from spanwise.nn.sequences import Sequences

RAGGED = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@pytest.fixture(params=["compiled", "segmented"], autouse=True, scope="module")
def way(request):
    """Both forms of the same arithmetic: the loops of the CPU, and what other devices do."""
    if request.param == "compiled":
        yield
        return
    patch = pytest.MonkeyPatch()
    patch.setattr(pointer, "serves", lambda scores: False)
    yield
    patch.undo()


def flat(lengths, seed, scale=5.0):
    generator = torch.Generator().manual_seed(seed)
    scores = (scale * torch.randn(sum(lengths), generator=generator)).requires_grad_()
    return scores, torch.tensor([0, *lengths]).cumsum(0), generator


def same_with_gradients(ours, expected, *inputs):
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-5)
    found = torch.autograd.grad(ours, inputs, retain_graph=True)
    for one, other in zip(found, torch.autograd.grad(expected, inputs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(RAGGED, st.integers(0, 10_000), st.sampled_from([1.0, 100.0]))
def test_one_gold_position_each_is_cross_entropy_pointer_by_pointer(lengths, seed, scale):
    scores, borders, generator = flat(lengths, seed, scale)
    places = [int(torch.randint(n, (1,), generator=generator)) for n in lengths]
    loss = pointer_loss(scores, borders, borders[:-1] + torch.tensor(places))
    runs = scores.split(lengths)
    expected = -sum(run.log_softmax(0)[place] for run, place in zip(runs, places, strict=True))
    assert loss.num_correct == sum(int(run.argmax()) == place for run, place in zip(runs, places, strict=True))
    same_with_gradients(loss.sum, expected, scores)
    exact = torch.cat([run.log_softmax(0) for run in runs])
    torch.testing.assert_close(log_softmax(scores, borders), exact, atol=1e-4, rtol=1e-5)


@settings(max_examples=40, deadline=None)
@given(RAGGED, st.integers(0, 10_000))
def test_several_gold_positions_share_their_probability(lengths, seed):
    scores, borders, generator = flat(lengths, seed)
    golds = [torch.randperm(n, generator=generator)[: 1 + seed % 4] for n in lengths]
    gold_borders = torch.tensor([0, *map(len, golds)]).cumsum(0)
    gold = torch.cat([places + start for places, start in zip(golds, borders, strict=False)])
    owners = torch.repeat_interleave(torch.arange(len(golds)), gold_borders.diff())
    loss = loss_of_any(point(scores, borders, gold, owners), gold_borders)
    runs = scores.split(lengths)
    expected = -sum(run.log_softmax(0)[places].logsumexp(0) for run, places in zip(runs, golds, strict=True))
    assert loss.num_correct == sum(int(run.argmax()) in p.tolist() for run, p in zip(runs, golds, strict=True))
    same_with_gradients(loss.sum, expected, scores)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 6)), min_size=1, max_size=6), st.integers(0, 10_000))
def test_many_pointers_score_the_tokens_of_their_own_sequence_by_two_bilinear_forms(shape, seed):
    """As recurring spans are found: a start and an end per hidden span, filler behind."""
    generator = torch.Generator().manual_seed(seed)
    lengths, counts = [n for n, _ in shape], [k for _, k in shape]
    sequences = Sequences.from_lengths([*lengths, 8])  # the last one is filler
    tokens = torch.randn(sum(lengths) + 8, 6, generator=generator, requires_grad=True)
    forms = [torch.randn(6, 6, generator=generator, requires_grad=True) for _ in range(2)]
    queries = torch.randn(sum(counts), 6, generator=generator)
    starts = sequences.cu_seqlens.tolist()
    rows = []
    for k, (length, count) in enumerate(shape):
        rows += [starts[k] + int(torch.randint(length, (1,), generator=generator)) for _ in range(count)]
    gold = torch.tensor(rows, dtype=torch.long)
    many = ManyPointers.of(counts, sequences)
    loss, expected = torch.zeros(()), torch.zeros(())
    correct = right = 0
    for form in forms:
        found = many.point(many.scores(queries @ form, tokens), gold)
        loss, correct = loss - found.log_p.sum(), correct + int(found.on_top.sum())
        place = 0
        for k, (length, count) in enumerate(shape):
            here = slice(starts[k], starts[k] + length)
            scores = queries[place : place + count] @ form @ tokens[here].t()
            wanted = gold[place : place + count] - starts[k]
            expected = expected + torch.nn.functional.cross_entropy(scores, wanted, reduction="sum")
            right += int((scores.argmax(1) == wanted).sum()) if count else 0
            place += count
    assert correct == right
    same_with_gradients(loss, expected, tokens, *forms)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 6)), min_size=1, max_size=6), st.integers(0, 10_000))
def test_one_product_of_all_sequences_scores_as_one_per_sequence_does(shape, seed):
    """What a GPU computes, computed here."""
    generator = torch.Generator().manual_seed(seed)
    lengths, counts = [n for n, _ in shape], [k for _, k in shape]
    many = ManyPointers.of(counts, Sequences.from_lengths([*lengths, 8]))
    tokens = torch.randn(sum(lengths) + 8, 6, generator=generator, requires_grad=True)
    queries = torch.randn(sum(counts), 6, generator=generator, requires_grad=True)
    weights = torch.randn(int(many.borders[-1]), generator=generator)
    one_by_one, at_once = many.scores(queries, tokens), many.scores_at_once(queries, tokens)
    torch.testing.assert_close(at_once, one_by_one, atol=1e-5, rtol=1e-5)
    same_with_gradients(at_once @ weights, one_by_one @ weights, tokens, queries)


def test_no_sequence_has_no_scores():
    many = ManyPointers.of([], Sequences.from_lengths([8]))
    tokens = torch.randn(8, 6)
    for scores in (many.scores(tokens[:0], tokens), many.scores_at_once(tokens[:0], tokens)):
        assert scores.shape == (0,) and scores.dtype == torch.float32


def test_a_place_where_no_pointer_may_point_gets_no_chance_and_no_gradient():
    scores = torch.tensor([1.0, float("-inf"), 0.0], requires_grad=True)
    found = point(scores, torch.tensor([0, 3]), torch.tensor([0]))
    torch.testing.assert_close(found.log_p[0], torch.tensor([1.0, 0.0]).log_softmax(0)[0])
    (gradient,) = torch.autograd.grad(found.log_p.sum(), scores)
    assert abs(float(gradient[1])) < 1e-30


def test_half_precision_scores_are_summed_in_float32():
    scores, borders, _ = flat([5, 3], 0)
    assert pointer_loss(scores.bfloat16(), borders, borders[:-1]).sum.dtype == torch.float32
