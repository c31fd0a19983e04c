"""Inputs that are drawn to compare, and our own numbers beside them."""

import torch
from tests.nn.toy import toy_encoder

from spanwise.interop.onnx.heads import HiddenStates
from spanwise.interop.onnx.text import TextGraph, computed_by_us, trial


def test_trials_have_padding_at_the_end_and_a_sequence_of_full_length():
    graph = TextGraph(toy_encoder(), HiddenStates(32))
    mask = trial(graph, 3, 4, 20)["attention_mask"]
    assert mask[0].all() and not mask.all() and (mask[:, 1:] <= mask[:, :-1]).all()


def test_what_is_of_padding_is_no_number_and_the_rest_is_what_the_padded_graph_computes():
    encoder = toy_encoder()
    graph = TextGraph(encoder, HiddenStates(32))
    given = trial(graph, 3, 4, 20)
    (ours,) = computed_by_us(encoder, graph, given)
    keep = given["attention_mask"].bool()
    assert ours[~keep].isnan().all()
    with torch.no_grad():
        (padded,) = graph(*given.values())
    assert (padded[keep] - ours[keep]).abs().max() < 1e-5
