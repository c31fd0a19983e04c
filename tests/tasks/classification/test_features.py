"""Texts as sequences: specials, cuts that are counted, windows, refusals."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.classification.features import ClassTargets, Fit, class_loss, encode_texts
from spanwise.tasks.sequence_rows import ExampleBorders


def encode(tokenizer, texts, pairs=None, *, max_length=12, on_overflow="truncate", stride=4, num_token_types=2):
    return encode_texts(
        texts,
        pairs,
        tokenizer,
        fit=Fit(max_length=max_length, on_overflow=on_overflow, stride=stride),
        num_token_types=num_token_types,
        places=tuple(f"row {number}" for number in range(len(texts))),
    )


def tokens_of(tokenizer, rows, example):
    batch = rows.assemble(np.array([example]))
    borders = np.cumsum([0, *batch.sequences.lengths])
    return [tokenizer.tokens(batch.input_ids[a:b].numpy()) for a, b in itertools.pairwise(borders)]


def test_a_pair_is_cls_a_sep_b_sep_with_two_token_types(tokenizer):
    rows = encode(tokenizer, ("a b",), ("c [SEP]",))
    batch = rows.assemble(np.array([0]))
    assert tokenizer.tokens(batch.input_ids.numpy()) == [
        "[CLS]", "a", "b", "[SEP]", "c", "[", "S", "##E", "##P", "]", "[SEP]"
    ]  # fmt: skip
    assert batch.token_type_ids.tolist() == [0] * 4 + [1] * 7
    assert encode(tokenizer, ("a",), ("b",), num_token_types=1).assemble(np.array([0])).token_type_ids.max() == 0


def test_what_is_cut_is_counted_and_the_longer_text_is_cut_first(tokenizer):
    rows = encode(tokenizer, ("a b c d e f g h", "a b"), ("x y z", "x y z"), max_length=9)
    assert tokens_of(tokenizer, rows, 0) == [["[CLS]", "a", "b", "c", "[SEP]", "x", "y", "z", "[SEP]"]]
    assert rows.num_dropped_W.tolist() == [5, 0] and rows.num_sequences_W.tolist() == [1, 1]


def test_windows_show_every_token_of_the_longer_text(tokenizer):
    rows = encode(tokenizer, ("a b c d e f g",), max_length=6, on_overflow="windows", stride=3)
    assert [tokens[1:-1] for tokens in tokens_of(tokenizer, rows, 0)] == [list("abcd"), list("defg")]
    pair = encode(tokenizer, ("a b c d e f g",), ("x y z",), max_length=9, on_overflow="windows", stride=3)
    parts = tokens_of(tokenizer, pair, 0)
    assert all(part[-4:] == ["x", "y", "z", "[SEP]"] and len(part) <= 9 for part in parts)
    assert sorted({token for part in parts for token in part[1:-5]}) == list("abcdefg")
    assert pair.num_dropped_W.tolist() == [0] and pair.num_sequences_W.tolist() == [3]
    reverse = encode(tokenizer, ("x y z",), ("a b c d e f g",), max_length=9, on_overflow="windows", stride=3)
    assert all(part[:5] == ["[CLS]", "x", "y", "z", "[SEP]"] for part in tokens_of(tokenizer, reverse, 0))
    both = encode(tokenizer, ("a b c d e f g",), ("u v w x y",), max_length=9, on_overflow="windows", stride=3)
    assert both.num_dropped_W.tolist() == [2]  # the shorter one has half the room


def test_a_text_that_is_too_long_is_named_where_none_may_be_cut(tokenizer):
    with pytest.raises(DataError, match="row 1: 9 tokens, and at most 8 fit"):
        encode(tokenizer, ("a", "a b c d e f g"), max_length=8, on_overflow="error")
    with pytest.raises(ConfigError, match="leaves no room"):
        encode(tokenizer, ("a",), ("b",), max_length=4)


def test_both_orders_of_a_pair_are_two_sequences_of_one_window(tokenizer):
    asked = {"tokenizer": tokenizer, "num_token_types": 2, "places": ("row 0", "row 1"), "both_orders": True}
    rows = encode_texts(
        ("a b", "a b c d e f g"), ("c", "x y z"), fit=Fit(max_length=9, stride=3, on_overflow="windows"), **asked
    )
    assert tokens_of(tokenizer, rows, 0) == [
        ["[CLS]", "a", "b", "[SEP]", "c", "[SEP]"], ["[CLS]", "c", "[SEP]", "a", "b", "[SEP]"]
    ]  # fmt: skip
    assert rows.num_sequences_W.tolist() == [2, 6] and rows.num_windows_W.tolist() == [1, 3]
    targets = rows.assemble(np.array([1, 0])).targets["label"]
    assert targets.num_orders == 2 and targets.examples.borders.tolist() == [0, 3, 4]
    parts = tokens_of(tokenizer, rows, 1)
    assert [part[1:-5] for part in parts[0::2]] == [part[5:-1] for part in parts[1::2]]
    one = encode_texts(("a",), None, fit=Fit(max_length=9), **{**asked, "places": ("row 0",)})
    assert one.num_windows_W.tolist() == [1]


SCORES = torch.tensor([[0.2, 1.0, -1.0], [2.0, 0.0, 0.5], [0.0, 0.3, 0.1]])
BORDERS = ExampleBorders.of(np.array([0, 2, 3]))
MEAN = torch.tensor([[1.1, 0.5, -0.25], [0.0, 0.3, 0.1]])


@pytest.mark.parametrize(
    ("kind", "gold", "expected"),
    [
        ("single_label", torch.tensor([0, 2]), F.cross_entropy(MEAN, torch.tensor([0, 2]), reduction="sum")),
        ("regression", torch.tensor([1.0, 2.0]), ((MEAN[:, 0] - torch.tensor([1.0, 2.0])) ** 2).sum()),
        (
            "multi_label",
            torch.tensor([[1.0, 0, 1], [0, 0, 0]]),
            2 * F.binary_cross_entropy_with_logits(MEAN, torch.tensor([[1.0, 0, 1], [0, 0, 0]])),
        ),
    ],
)
def test_the_loss_is_the_sum_over_examples_of_their_windows_mean_scores(kind, gold, expected):
    scores = SCORES.clone().requires_grad_()
    found = class_loss(BORDERS.mean(scores.float()), gold, kind)
    torch.testing.assert_close(found.sum, expected)
    found.sum.backward()
    assert scores.grad.abs().sum() > 0
    assert (found.num_correct is not None) == (kind == "single_label")


def test_right_guesses_are_counted():
    assert class_loss(BORDERS.mean(SCORES), torch.tensor([0, 2]), "single_label").num_correct == 1


def test_of_both_orders_the_sum_of_the_two_rows_is_scored():
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.heads.sequence import SequenceHead
    from spanwise.nn.sequences import Sequences
    from spanwise.tasks.classification.features import window_scores

    shape = {"vocab_size": 9, "hidden_size": 4, "num_layers": 1, "num_heads": 1, "intermediate_size": 4}
    head = SequenceHead(EncoderConfig(**shape), 2, "last_biased").eval()
    hidden = torch.randn(9, 4)
    sequences = Sequences.from_lengths([2, 1, 3, 2, 1])  # the last one is filler
    examples = ExampleBorders.of(np.array([0, 1, 2]))
    found = window_scores(head, hidden, sequences, ClassTargets(examples, None, num_orders=2))
    expected = head.out(torch.stack([hidden[1] + hidden[2], hidden[5] + hidden[7]]))  # the bias comes once
    torch.testing.assert_close(found, expected)
