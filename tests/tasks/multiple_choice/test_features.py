"""Sequences of choices: whole choices, cut passages, never parted."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.batches import EpochBatches, filled
from spanwise.tasks.multiple_choice.features import ChoiceTargets, choice_loss, encode_choices
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question
from spanwise.tasks.sequence_rows import ExampleBorders


def data_of(*questions):
    return ChoiceData(
        source="x",
        questions=tuple(Question(str(n), *parts, f"x, line {n}") for n, parts in enumerate(questions)),
    )


def encode(data, tokenizer, **options):
    given = {"max_length": 32, "max_question_tokens": 128, "num_token_types": 2, "with_gold": True, **options}
    return encode_choices(data, tokenizer, **given)


def sequences(rows, tokenizer, row=0):
    batch = rows.assemble(np.array([row]))
    cut = np.cumsum(batch.sequences.lengths)[:-1]
    return [" ".join(tokenizer.tokens(part)) for part in np.split(batch.input_ids.numpy(), cut)]


def test_each_choice_is_a_sequence_behind_passage_and_question(tokenizer):
    data = data_of(("a b", "q ?", ("x", "y z"), 1), ("", "q", ("x", "y", "z"), 2))
    rows = encode(data, tokenizer)
    assert sequences(rows, tokenizer) == ["[CLS] a b [SEP] q ? x [SEP]", "[CLS] a b [SEP] q ? y z [SEP]"]
    assert sequences(rows, tokenizer, 1)[2] == "[CLS] q [SEP] z [SEP]"
    batch = filled(rows.assemble(np.array([1, 0])), 64)
    assert batch.targets["choice"].gold.tolist() == [2, 4] and batch.counts == {"choice": 2}
    assert batch.targets["choice"].questions.borders.tolist() == [0, 3, 5]


def test_the_passage_gives_way_and_choices_stay_whole(tokenizer):
    passage = "a b c d e f g h i j k l m n o p"
    rows = encode(data_of((passage, "q ?", ("x", "x y z"), 0)), tokenizer, max_length=14)
    assert sequences(rows, tokenizer) == [
        "[CLS] a b c d e f g h [SEP] q ? x [SEP]",
        "[CLS] a b c d e f [SEP] q ? x y z [SEP]",
    ]
    assert rows.num_dropped_W.tolist() == [10]
    long = encode(data_of((passage, "q r s t ?", ("x", "y"), 0)), tokenizer, max_length=20, max_question_tokens=3)
    assert sequences(long, tokenizer)[0].endswith("[SEP] t ? x [SEP]")
    with pytest.raises(DataError, match=r"x, line 0: 10 tokens more than fit into 14"):
        encode(data_of((passage, "q ?", ("x", "x y z"), 0)), tokenizer, max_length=14, on_overflow="error")
    with pytest.raises(ConfigError, match="leaves no room"):
        encode(data_of(("a", "q", ("x", "y"), 0)), tokenizer, max_length=6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(2, 6), min_size=1, max_size=12), st.integers(8, 60), st.integers(1, 5))
def test_packs_never_part_the_choices_of_a_question(tokenizer, counts, pack_tokens, batch_size):
    data = data_of(*(("a b", "q", tuple("abcdef"[:count]), 0) for count in counts))
    rows = encode(data, tokenizer)
    source = EpochBatches(rows, batch_size=batch_size, pack_tokens=pack_tokens, seed=3)
    seen = []
    for step in range(source.steps_per_epoch):
        for pack in source.step(step):
            assert len(pack.sequences.lengths) == sum(counts[row] for row in pack.ids)
            seen += pack.ids
    assert sorted(seen) == list(range(len(counts)))


def test_the_loss_is_the_cross_entropy_of_each_question_whatever_its_number_of_choices():
    scores = torch.tensor([0.3, 80.0, -1.0, 2.0, 1.0, 99.0], requires_grad=True)  # the last one is filler
    targets = ChoiceTargets(ExampleBorders.of(np.array([0, 3, 5])), torch.tensor([1, 4]))
    found = choice_loss(scores, targets)
    expected = F.cross_entropy(scores[None, :3], torch.tensor([1])) + F.cross_entropy(
        scores[None, 3:5], torch.tensor([1])
    )
    torch.testing.assert_close(found.sum, expected)
    assert found.num_correct == 1
    found.sum.backward()
    assert scores.grad[5] == 0 and scores.grad[3] > 0 > scores.grad[4]
