"""Examples of any form become the same flat arrays; what can't be read is named."""

import numpy as np
import pytest
import torch

from spanwise.errors import DataError
from spanwise.integrations.huggingface.rows import NO_WORD, read_rows

IDS = [[5, 6, 7], [8], [9, 10]]
FORMS = {
    "lists": lambda ids: [{"input_ids": row} for row in ids],
    "tuples": lambda ids: [{"input_ids": tuple(row)} for row in ids],
    "arrays": lambda ids: [{"input_ids": np.array(row, dtype=np.int32)} for row in ids],
    "tensors": lambda ids: [{"input_ids": torch.tensor(row)} for row in ids],
    "rows of one": lambda ids: [{"input_ids": torch.tensor([row])} for row in ids],
    "mixed": lambda ids: [{"input_ids": ids[0]}, {"input_ids": np.array(ids[1])}, {"input_ids": torch.tensor(ids[2])}],
    "ids alone": lambda ids: ids,
    "tensors alone": lambda ids: [torch.tensor(row) for row in ids],
    "a whole batch": lambda ids: {"input_ids": ids},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form):
    rows = read_rows(FORMS[form](IDS))

    assert rows.input_ids.dtype == np.int64
    assert rows.input_ids.tolist() == [5, 6, 7, 8, 9, 10]
    assert rows.borders.tolist() == [0, 3, 4, 6]


def test_what_a_tokenizer_returns_is_read_whole(tokenizers_of):
    tokenizer = tokenizers_of("bert")
    texts = ["a bridge", "the old town"]

    whole = read_rows(tokenizer(texts, return_special_tokens_mask=True, return_offsets_mapping=True))
    single = read_rows([tokenizer(text, return_special_tokens_mask=True) for text in texts])

    for name in ("input_ids", "borders", "attention_mask", "token_type_ids", "special_tokens_mask"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(single, name))
    assert whole.special_tokens_mask[0] == 1 and not whole.scalars


@pytest.mark.parametrize("form", [list, tuple, lambda row: np.array(row, dtype=object)])
def test_word_ids_may_be_none(form):
    rows = read_rows([{"input_ids": [2, 7, 3], "word_ids": form([None, 0, None])}])

    assert rows.word_ids.tolist() == [NO_WORD, 0, NO_WORD]


def test_numbers_of_whole_examples_travel_along_and_text_does_not():
    rows = read_rows(
        [
            {"input_ids": [5], "next_sentence_label": 1, "weight": 0.5, "text": "a"},
            {"input_ids": [6], "next_sentence_label": torch.tensor(0), "weight": 2.0, "text": "b"},
        ]
    )

    assert rows.scalars["next_sentence_label"].tolist() == [1, 0]
    assert rows.scalars["weight"].dtype == np.float32
    assert set(rows.scalars) == {"next_sentence_label", "weight"}


def test_labels_count_only_beside_span_mask():
    ids = {"input_ids": [5, 6], "labels": [5, 6]}  # as for causal models: not a masking

    assert read_rows([ids]).labels is None
    assert read_rows([{**ids, "span_mask": [0, 1]}]).labels.tolist() == [5, 6]
    assert read_rows([ids, {"input_ids": [7]}]).input_ids.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "examples, message",
    [
        ([], "an empty list of examples"),
        ([{"attention_mask": [1]}], "example 0 has no 'input_ids'; it has 'attention_mask'.*remove_unused_columns"),
        ({"labels": [1]}, "the batch has no 'input_ids'"),
        ([{"input_ids": [5, 6], "attention_mask": [1]}], "example 0 has 2 input_ids but 1 values of 'attention_mask'"),
        ([{"input_ids": [0.5]}], "'input_ids' must be rows of whole numbers"),
        ([{"input_ids": torch.rand(3)}], "'input_ids' must be rows of whole numbers"),
        ([{"input_ids": np.ones(2)}], "'input_ids' of example 0 is float64"),
        ([{"input_ids": ["a"]}], "'input_ids' must be rows of whole numbers"),
        ([{"input_ids": [None]}], "'input_ids' must be rows of whole numbers"),
        ([{"input_ids": 5}], "'input_ids'"),
        ([{"input_ids": [[5], [6]]}], "'input_ids' must be rows of whole numbers"),
        ([{"input_ids": [5], "token_type_ids": [0]}, {"input_ids": [6]}], "example 1 has no 'token_type_ids'"),
        (
            [{"input_ids": [5]}, {"input_ids": [6]}, {"input_ids": [7], "span_mask": [1], "labels": [7]}],
            "example 2 has 'span_mask' and example 0 has none; .* the same columns",
        ),
        (
            [{"input_ids": [5], "span_mask": [1], "labels": [5]}, {"input_ids": [6], "span_mask": [1]}],
            "example 1 has no 'labels' and example 0 has one",
        ),
        ([{"input_ids": [5], "bbox": [[1, 2]]}], "this collator can't pad 'bbox'"),
        ([{"input_ids": [5], "span_mask": [1]}], "'span_mask' but no 'labels'"),
    ],
)
def test_what_cannot_be_read_is_named(examples, message):
    with pytest.raises(DataError, match=message):
        read_rows(examples)
