"""The whole head: gradients reach every parameter, chunks and dropout do as they say."""

import numpy as np
import pytest
import torch
from tests.nn.coreference.small import small_document, small_head
from tests.nn.toy import toy_config

from spanwise.nn.coreference.antecedents import Spans
from spanwise.nn.coreference.head import CoreferenceHead, HeadSizes
from spanwise.nn.coreference.loss import antecedent_loss, mention_loss

WITHOUT_EFFECT = {"spans.attention.bias"}  # the softmax takes it away: its gradient is rounding or, on some CPUs, 0


def test_every_parameter_gets_a_gradient():
    torch.manual_seed(0)  # of dropout, which could cut every path to a small table
    head = small_head(gated=True, num_genres=1).train()
    hidden, document = small_document()
    document = type(document)(**{**vars(document), "genre": 0})
    linked = head(hidden.requires_grad_(), document, num_antecedents=8, depth=2)
    clusters = torch.arange(len(linked.start_k)) % 3
    (antecedent_loss(linked.antecedents, clusters).sum + mention_loss(linked.mention_k, clusters).sum).backward()
    without = [name for name, p in head.named_parameters() if p.grad is None or not p.grad.any()]
    assert set(without) <= WITHOUT_EFFECT and hidden.grad.any()


def test_what_no_gradient_reaches_changes_no_score():
    head, other = small_head(gated=True), small_head(gated=True)
    for name in WITHOUT_EFFECT:
        other.get_parameter(name).data += 5
    scores, expected = (each(*small_document()).antecedents.scores_kc for each in (other, head))
    torch.testing.assert_close(scores, expected)


def test_gradients_are_those_of_finite_differences():
    head = small_head(gated=True).double()
    hidden, document = small_document(9, num_spans=4)
    always = np.zeros(len(document.start_N), dtype=bool)
    always[:: len(always) // 4] = True  # the choice of spans is no smooth function: fix it
    document = type(document)(**{**vars(document), "always_N": always, "num_spans": int(always.sum())})

    def loss(states):
        scores = head.spans.vectors(states, *borders)
        mention = head.spans.mention_scores(scores, *borders)
        spans = Spans(scores, mention, document.speaker_T[borders[0]], document.segment_T[borders[0]], 0)
        found = head.antecedents(spans, num_antecedents=10, depth=2)
        same = (clusters[:, None] == clusters[found.index_kc]) & found.valid_kc
        return found.scores_kc[same].sum()

    linked = head.float()(hidden, document)
    head.double()
    borders, clusters = (linked.start_k, linked.end_k), torch.arange(len(linked.start_k)) % 2
    assert torch.autograd.gradcheck(loss, hidden.double().requires_grad_(), eps=1e-6, atol=1e-5)


def test_a_gpu_is_waited_for_no_number_once_spans_are_chosen():
    """On `meta` tensors have no values, so whoever reads one fails; chunks are as large there as on a GPU."""
    head, k = small_head(gated=True).to("meta").train(), 900
    hidden, start = torch.zeros(4_000, head.spans.hidden_size, device="meta"), torch.arange(k, device="meta")
    vectors = head.spans.vectors(hidden, start, start + 2)
    mention = head.spans.mention_scores(vectors, start, start + 2)
    spans = Spans(vectors, mention, torch.zeros_like(start), torch.zeros_like(start), 0)
    with torch.profiler.profile() as profile:
        found = head.antecedents(spans, num_antecedents=50, depth=2)

    assert found.scores_kc.shape == (k, 50) and found.scores_kc.requires_grad
    assert sum(event.name == "aten::mm" for event in profile.events()) < 60


def test_spans_that_are_always_kept_are_kept_first():
    hidden, document = small_document(num_spans=3)
    lowest = np.argsort(small_head().spans.candidate_scores(hidden, document.start_N, document.end_N))[:1]
    always = np.isin(np.arange(len(document.start_N)), lowest)
    chosen = small_head().choose(hidden, type(document)(**{**vars(document), "always_N": always}))
    spans = set(zip(chosen.start_k.tolist(), chosen.end_k.tolist(), strict=True))
    assert (document.start_N[lowest[0]], document.end_N[lowest[0]]) in spans and len(spans) == 3


def test_dropout_works_in_training_only_and_its_rate_can_be_changed():
    head = small_head(dropout=0.0)
    hidden, document = small_document()
    plain = head(hidden, document).antecedents.scores_kc
    assert torch.equal(head.train()(hidden, document).antecedents.scores_kc, plain)
    head.set_dropout(0.5)
    assert not torch.equal(head(hidden, document).antecedents.scores_kc, plain)
    assert torch.equal(head.eval()(hidden, document).antecedents.scores_kc, plain)


@pytest.mark.parametrize("mode", [True, False])
def test_a_half_precision_run_rounds_factors_and_no_score(mode):
    head = small_head(gated=True, dropout=0.0).train(mode)
    hidden, document = small_document()
    plain = head(hidden, document, depth=2)
    with torch.autocast("cpu", torch.bfloat16):
        found = head(hidden, document, depth=2)
    valid = plain.antecedents.valid_kc
    scores, expected = (linked.antecedents.scores_kc[valid] for linked in (found, plain))
    assert scores.dtype == torch.float32 and not torch.equal(scores, scores.bfloat16().float())
    assert torch.equal(found.start_k, plain.start_k) and torch.equal(found.antecedents.valid_kc, valid)
    assert not torch.equal(scores, expected)
    assert (scores - expected).abs().max() < 0.03 * expected.std()


def test_gradients_of_a_half_precision_run_are_close_and_float32():
    head = small_head(gated=True, dropout=0.0).train()
    hidden, document = small_document()
    gradients = []
    for asked in (False, True):
        head.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=asked):
            linked = head(hidden, document, depth=2)
        antecedent_loss(linked.antecedents, torch.arange(len(linked.start_k)) % 3).sum.backward()
        gradients.append({name: p.grad.clone() for name, p in head.named_parameters() if p.grad is not None})
    plain, rounded = gradients
    assert plain.keys() == rounded.keys()
    assert {gradient.dtype for gradient in rounded.values()} == {torch.float32}
    for name in plain.keys() - WITHOUT_EFFECT:
        assert torch.cosine_similarity(plain[name].flatten(), rounded[name].flatten(), 0) > 0.99, name


OTHERS = HeadSizes(ffn_size=7, max_width=3, num_genres=4, num_segments=11, gated=True)


@pytest.mark.parametrize("sizes", [HeadSizes(), OTHERS])
def test_sizes_are_read_off_the_tensors_of_a_head(sizes):
    assert HeadSizes.from_tuple(sizes.as_tuple()) == sizes
    small = {name: getattr(sizes, name) for name in ("max_width", "num_genres", "num_segments", "gated")}
    head = small_head(**small)
    found = HeadSizes.of_tensors(dict(head.named_parameters()))
    assert found == head.sizes


def test_the_papers_head_has_the_papers_sizes():
    with torch.device("meta"):
        head = CoreferenceHead(toy_config(hidden_size=1024, num_heads=16))
    assert head.spans.vector_size == 3092
    assert head.antecedents.pair.hidden.in_features == 3 * 3092 + 80 == 9356
    assert head.antecedents.pair.hidden.out_features == 3000
