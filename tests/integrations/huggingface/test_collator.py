"""Span masking on padded tensors: the laws, every kind of tokenizer, workers, and each mistake of known collators."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from spanwise.errors import ConfigError, DataError
from spanwise.integrations.huggingface import SpanMaskingCollator
from spanwise.pretraining.masking import (
    GeometricSpans,
    NGrams,
    NoMasking,
    NoReplacement,
    QuestionTokens,
    RecurringGroups,
    RecurringSpans,
    Replacement,
    SubwordTokens,
    TaggedPhrases,
    WholeWords,
)
from spanwise.pretraining.masking.base import bound
from spanwise.pretraining.masking.merge import merged
from spanwise.pretraining.packs import Pack
from spanwise.runtime.seed import keys_for
from spanwise.text.words import word_starts

FIRST_PIECE, NUM_SPECIALS = 300, 5  # of the numbered vocabulary
ALL_MASKED = Replacement(mask=1.0, random=0.0, keep=0.0)


def hidden_of(batch) -> np.ndarray:
    return np.asarray(batch["labels"]) != -100


def runs(hidden_L: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], hidden_L.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


MASKINGS = [GeometricSpans(), SubwordTokens(), WholeWords(), NGrams(), RecurringSpans(), NoMasking()]


@pytest.mark.parametrize("masking", MASKINGS, ids=lambda m: m.part_name)
@pytest.mark.parametrize("side", ["right", "left"])
def test_masks_are_those_of_our_own_packs(collate, rows_of, masking, side):
    rows = [row[: 20 + 7 * i] for i, row in enumerate(rows_of(8, 100))]
    collator = collate(masking=masking, epoch=3, seed=7, padding_side=side, extra_keys=("spans", "span_mask"))

    batch = collator(rows)

    ids = np.concatenate(rows)
    borders = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    vocabulary = collator.vocabulary
    maskable = ~vocabulary.is_special[ids]
    follows_special = np.concatenate([[True], ~maskable[:-1]])
    pack = Pack(
        input_ids=ids,
        token_type_ids=ids,
        borders=borders,
        maskable=maskable,
        starts_word=maskable & (vocabulary.starts_word[ids] | follows_special),
        block_ids=collator._keys(collator._read(rows), np.ones(len(ids), dtype=bool), None)[2],
    )
    spans = merged(bound(masking, vocabulary).select(pack, keys_for(7, "masking", 3, pack.block_ids)))
    replaced = collator.replacement.apply(pack, spans, keys_for(7, "replacement", 3, pack.block_ids), vocabulary)
    real = batch["attention_mask"].numpy().astype(bool)
    assert batch["input_ids"].numpy()[real].tolist() == replaced.tolist()
    shift = (real.shape[1] - np.diff(borders) if side == "left" else 0 * borders[1:]) - borders[:-1]
    expected = np.stack([spans.start, spans.end], 1) + shift[spans.sequence][:, None]
    found = batch["spans"].numpy()
    assert found[found[..., 0] >= 0].tolist() == expected.tolist()
    assert (batch["span_mask"].numpy() == hidden_of(batch)).all()


def test_padding_knows_the_tokenizer_and_labels_know_minus_hundred(tokenizer, tokenizers_of):
    """The pad id is the tokenizer's, 1 for RoBERTa; the label of no target does not depend on it."""
    examples = [dict(tokenizer("a bridge")), dict(tokenizer("the old river ran past a stone bridge"))]

    batch = SpanMaskingCollator(tokenizer)(examples)

    padding = batch["attention_mask"] == 0
    assert padding.any() and (batch["input_ids"][padding] == tokenizer.pad_token_id).all()
    assert (batch["labels"][padding] == -100).all()
    assert ("token_type_ids" in batch) == ("token_type_ids" in examples[0])
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


@pytest.mark.parametrize("shape", ["single", "pair", "left"])
def test_invariants_hold_for_every_kind_of_tokenizer(tokenizer, shape):
    """Whole words, never a special or padding, the whole budget, no span over a separator."""
    lines = ["The old river ran past a stone bridge.", "people sold bread 안녕하세요 中文字!", "quiet town"]
    examples = [dict(tokenizer(line, lines[0]) if shape == "pair" else tokenizer(line)) for line in lines] * 20
    collator = SpanMaskingCollator(tokenizer, padding_side="left" if shape == "left" else None, extra_keys="spans")
    specials, vocabulary = np.array(collator.special_ids), collator.vocabulary

    seen_first = 0
    for _ in range(5):
        batch = {key: tensor.numpy() for key, tensor in collator(examples).items()}
        hidden = hidden_of(batch)
        original = np.where(hidden, batch["labels"], batch["input_ids"])
        maskable = (batch["attention_mask"] == 1) & ~np.isin(original, specials)
        assert not (hidden & ~maskable).any()
        for row in range(len(examples)):
            n, num_hidden = maskable[row].sum(), hidden[row].sum()
            assert num_hidden >= -(-15 * n // 100)
            assert [tuple(pair) for pair in batch["spans"][row] if pair[0] >= 0] == runs(hidden[row])
            inside = maskable[row] & np.concatenate([[False], maskable[row][:-1]])
            starts = word_starts(original[row], vocabulary.starts_word, vocabulary.ends_word)
            word = np.cumsum(maskable[row] & ~(inside & ~starts)) * maskable[row]
            size, part = np.bincount(word), np.bincount(word, weights=hidden[row])
            assert ((part == 0) | (part == size))[1:].all()
            seen_first += hidden[row][maskable[row].argmax()]
    assert seen_first  # with RoBERTa the first word carries no mark of a blank, and is still a word


def test_words_that_the_example_brings_are_kept_whole(collate):
    word_ids = [None, *np.repeat(np.arange(25), 4).tolist(), None]
    examples = [{"input_ids": [2, *range(20, 120), 3], "word_ids": word_ids} for _ in range(50)]

    hidden = hidden_of(collate()(examples))[:, 1:-1].reshape(50, 25, 4)

    assert (hidden.all(2) == hidden.any(2)).all() and hidden.any(2).mean() > 0.14


def test_lengths_are_counted_in_words_and_kept(collate, rows_of):
    """A budget of three tokens and spans of exactly three words; only the end of a row can cut them."""
    collator = collate(masking=GeometricSpans(min_words=3, max_words=3, end="budget"))
    rows = [np.concatenate([[2], 20 + np.arange(20), [3]])] * 400

    hidden = hidden_of(collator(rows))

    assert (hidden.sum(1) == 3).all()
    whole = [runs(row) for row in hidden if not row[20]]
    assert len(whole) > 300 and all(len(found) == 1 and found[0][1] - found[0][0] == 3 for found in whole)


def test_pieces_of_short_and_long_words_are_hidden_alike(collate, rows_of):
    """Some 15.2 % of the pieces of words of every size."""
    rows, collator = rows_of(500, 510), collate(return_tensors="np")
    ids = np.stack(rows)
    maskable = ids >= NUM_SPECIALS
    word = np.cumsum(maskable & (ids < FIRST_PIECE)).reshape(ids.shape) * maskable
    size = np.bincount(word.ravel())[word]

    rate = sum(hidden_of(collator(rows)).astype(int) for _ in range(6)) / 6

    inner = maskable & (np.arange(512) > 12)
    rates = [100 * rate[inner & (size == k)].mean() for k in (1, 2, 3)]
    np.testing.assert_allclose(rates, 15.3, rtol=0.04)


@pytest.mark.parametrize("n", range(1, 7))
def test_short_examples_have_a_target_too(collate, n):
    batch = collate()([[2, *range(20, 20 + n), 3]])

    assert hidden_of(batch).sum() == 1


def test_an_example_without_words_gives_no_target_and_no_error(collate):
    batch = collate()([[2, 3], [2, 0, 3], []])

    assert not hidden_of(batch).any()
    assert batch["input_ids"].tolist() == [[2, 3, 0], [2, 0, 3], [0, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("ratio", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_a_hundred_thousand_odd_examples_end(collate, ratio, end):
    """Only pieces, only punctuation, only specials, one word of forty pieces, nothing at all."""
    rng = np.random.default_rng(0)
    kinds = [lambda n: [300] * n, lambda n: [5] * n, lambda n: [2] * n, lambda n: [20, *[301] * 39], lambda n: []]
    kinds.append(lambda n: rng.integers(0, 500, n).tolist())
    collator = collate(masking=GeometricSpans(ratio=ratio, end=end), return_tensors="np")

    count = 0
    for _ in range(2):
        examples = [kinds[i % 6](int(rng.integers(0, 12))) for i in range(9_000)]
        hidden = hidden_of(collator(examples)).sum(1)
        maskable = np.array([sum(i >= 5 or i == 1 for i in row) for row in examples])
        budgets = np.ceil(np.round(ratio * maskable, 9))
        assert (hidden >= budgets).all() and (hidden <= maskable).all()
        count += len(examples)
    assert count * 6 > 100_000  # in all six cases


def test_a_strict_budget_is_the_ceiling_of_what_may_be_hidden(collate, rows_of):
    """Nothing is spent on separators and padding."""
    rows = [
        np.concatenate([a[:k], b[1:]]) for k, (a, b) in enumerate(zip(rows_of(60, 80), rows_of(60, 9), strict=True))
    ]

    hidden = hidden_of(collate(masking=GeometricSpans(end="budget"))(rows))

    maskable = np.array([(row >= NUM_SPECIALS).sum() for row in rows])
    assert (hidden.sum(1) == -(-15 * maskable // 100)).all()


def test_one_span_of_eighty_tokens_is_one_span(collate):
    batch = collate(masking=GeometricSpans(ratio=1.0), extra_keys=("spans",))([[2, *range(20, 100), 3]])

    assert batch["spans"].tolist() == [[[1, 81]]]


def test_spans_are_replaced_as_a_whole_and_in_the_papers_shares(collate, rows_of):
    """One kind for all tokens of a merged span, 80/10/10 within a hundredth."""
    rows, collator = rows_of(640, 510), collate(extra_keys=("spans",), return_tensors="np")
    ids, kinds = np.stack(rows), []

    for _ in range(10):
        batch = collator(rows)
        row, number = np.nonzero(batch["spans"][..., 0] >= 0)
        start, end = batch["spans"][row, number].T
        masked = np.cumsum(np.pad(batch["input_ids"] == 4, ((0, 0), (1, 0))), axis=1)
        changed = np.cumsum(np.pad(batch["input_ids"] != ids, ((0, 0), (1, 0))), axis=1)
        num_masked, num_changed = (sums[row, end] - sums[row, start] for sums in (masked, changed))
        length = end - start
        assert ((num_masked == 0) | (num_masked == length)).all()
        kinds.append(np.where(num_masked, 0, np.where(num_changed, 1, 2)))
    kinds = np.concatenate(kinds)

    assert len(kinds) > 90_000
    np.testing.assert_allclose(np.bincount(kinds) / len(kinds), [0.8, 0.1, 0.1], atol=0.01)


def test_punctuation_and_unknown_words_are_words_like_any_other(collate):
    """An unknown word hides with its rate, and a piece after punctuation belongs to it."""
    rng, collator = np.random.default_rng(0), collate(return_tensors="np")
    kinds = [(1,), (6,), (30,), (7, 300), (40, 301)]
    order = [rng.integers(0, 5, 300) for _ in range(200)]
    rows = [[2, *(i for kind in row for i in kinds[kind]), 3] for row in order]
    kind_of = [np.repeat(row, [len(kinds[kind]) for kind in row]) for row in order]

    rates = np.zeros((6, 5))
    for call in range(6):
        hidden = hidden_of(collator(rows))
        every = np.concatenate([row[1 : 1 + len(kind)] for row, kind in zip(hidden, kind_of, strict=True)])
        rates[call] = [every[np.concatenate(kind_of) == kind].mean() for kind in range(5)]

    np.testing.assert_allclose(rates.mean(0), rates.mean(), rtol=0.03)


@pytest.mark.parametrize("form", [list, np.array, torch.tensor])
def test_inputs_stay_as_they_were(collate, form):
    examples = [{"input_ids": form([2, *range(20, 60), 3]), "attention_mask": form([1] * 42)} for _ in range(3)]
    before = pickle.dumps(examples)

    batch = collate()(examples)
    batch["input_ids"].fill_(0)

    assert pickle.dumps(examples) == before


def test_a_single_example_is_a_copy_too(collate):
    ids = np.array([2, *range(20, 60), 3])

    collate(masking=GeometricSpans(ratio=1.0))([ids])["input_ids"].fill_(0)

    assert ids[0] == 2


def test_no_token_is_ever_looked_up_in_the_tokenizer(collate, rows_of):
    """One table, made once."""
    collator, rows = collate(epoch=0), rows_of(4, 50)
    before = collator(rows)

    collator.tokenizer = None

    assert torch.equal(collator(rows)["input_ids"], before["input_ids"])


@pytest.mark.parametrize("law", ["uniform", "unigram"])
def test_a_special_is_never_put_there(tokenizer, law):
    replacement = Replacement(mask=0.0, random=1.0, keep=0.0, random_law=law)
    counts = np.arange(len(tokenizer)) + 1
    collator = SpanMaskingCollator(
        tokenizer, masking=GeometricSpans(ratio=1.0), replacement=replacement, unigram_counts=counts
    )

    batch = collator([dict(tokenizer("the old river ran past a stone bridge " * 10)) for _ in range(40)])

    put = batch["input_ids"][batch["labels"] != -100]
    assert len(put) > 1000 and put.max() < len(tokenizer)
    assert not np.isin(put.numpy(), np.flatnonzero(collator.vocabulary.is_special)).any()


def test_random_tokens_follow_the_counts_that_are_given(collate, rows_of):
    counts = np.zeros(500, dtype=int)
    counts[[20, 30]] = 3, 1
    everything_random = Replacement(mask=0.0, random=1.0, keep=0.0)

    batch = collate(masking=GeometricSpans(ratio=1.0), replacement=everything_random, unigram_counts=counts)(
        rows_of(20, 500)
    )

    put = batch["input_ids"][batch["labels"] != -100]
    assert abs((put == 20).float().mean() - 0.75) < 0.02 and ((put == 20) | (put == 30)).all()


def test_a_law_of_counts_without_counts_is_refused_unless_nothing_is_random(collate):
    with pytest.raises(ConfigError, match="random_law='unigram' needs"):
        collate(replacement=Replacement())
    assert hidden_of(collate(replacement=ALL_MASKED)([[2, 30, 3]])).sum() == 1


def test_shapes_follow_the_options(collate, rows_of):
    rows = [row[: 10 + i] for i, row in enumerate(rows_of(4, 60))]

    assert collate()(rows)["input_ids"].shape == (4, 13)
    assert collate(pad_to_multiple_of=8)(rows)["labels"].shape == (4, 16)
    assert collate(padding="max_length", max_length=32)(rows)["attention_mask"].shape == (4, 32)
    left = collate(padding_side="left")(rows)
    assert left["attention_mask"][0].tolist() == [0, 0, 0, *[1] * 10] and left["input_ids"][0, :3].tolist() == [0, 0, 0]
    arrays = collate(return_tensors="np")(rows)
    assert isinstance(arrays["labels"], np.ndarray)


def test_a_longer_example_is_cut_and_keeps_its_last_special(collate):
    examples = [
        {"input_ids": [2, *range(20, 30), 3], "token_type_ids": [0] * 6 + [1] * 6},
        {"input_ids": list(range(20, 32)), "token_type_ids": [0] * 12},
        {"input_ids": [2, 40, 3], "token_type_ids": [0] * 3},
    ]

    batch = collate(max_length=6, masking=GeometricSpans(ratio=0.0))(examples)

    assert batch["input_ids"].tolist() == [[2, 20, 21, 22, 23, 3], [20, 21, 22, 23, 24, 25], [2, 40, 3, 0, 0, 0]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 0, 1], [0] * 6, [0] * 6]


def test_specials_in_the_text_and_more_that_the_example_protects_stay_visible(collate):
    ids = [2, 20, 4, 21, 22, 23, 3]  # a [MASK] of the text
    examples = [{"input_ids": ids, "special_tokens_mask": [1, 0, 0, 1, 0, 0, 1]}]

    hidden = hidden_of(collate(masking=GeometricSpans(ratio=1.0))(examples))

    assert hidden[0].tolist() == [False, True, False, False, True, True, False]


def test_masked_examples_are_only_padded(collate, rows_of):
    rows = rows_of(3, 30)
    collator = collate(seed=4, extra_keys=("span_mask", "spans"))

    masked = collator.premask([{"input_ids": row[: 20 + i], "label": i} for i, row in enumerate(rows)])

    first, second = collator(masked), collate(seed=9, extra_keys=("span_mask", "spans"))(masked)
    assert masked == collator.premask([{"input_ids": row[: 20 + i], "label": i} for i, row in enumerate(rows)])
    for key in ("input_ids", "labels", "span_mask", "spans", "label"):
        assert torch.equal(first[key], second[key])
    direct = collate(seed=4, epoch=0)([row[: 20 + i] for i, row in enumerate(rows)])
    assert torch.equal(first["input_ids"], direct["input_ids"]) and torch.equal(first["labels"], direct["labels"])
    assert first["label"].tolist() == [0, 1, 2] and hidden_of(first).any()


# --- randomness ---


def test_each_call_draws_anew_and_a_new_collator_repeats_it(collate, rows_of):
    rows = rows_of(4, 60)
    first, again, other = collate(seed=1), collate(seed=1), collate(seed=2)

    calls = [first(rows)["labels"] for _ in range(3)]

    assert not torch.equal(calls[0], calls[1])
    assert all(torch.equal(call, again(rows)["labels"]) for call in calls)
    assert not torch.equal(calls[0], other(rows)["labels"])


def test_equal_examples_of_a_batch_are_masked_apart_while_calls_are_counted(collate, rows_of):
    labels = collate()(rows_of(1, 60) * 2)["labels"]

    assert not torch.equal(labels[0], labels[1])


def test_by_epoch_a_mask_belongs_to_its_example(collate, rows_of):
    rows = rows_of(6, 60)
    collator = collate(epoch=0)

    whole = collator(rows)["labels"]
    single = torch.cat([collator([row])["labels"] for row in rows[::-1]])
    collator.set_epoch(1)
    later = collator(rows)["labels"]

    assert torch.equal(whole, single.flip(0)) and not torch.equal(whole, later)
    assert collator.epoch == 1
    collator.set_epoch(0)
    assert torch.equal(collator(rows)["labels"], whole)


def test_the_global_generators_are_left_alone(collate, rows_of):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)

    collate()(rows_of(2, 60))

    assert torch.equal(torch.rand(1), expected)


def test_copies_and_pickles_work_alike(collate, rows_of):
    rows, collator = rows_of(2, 60), collate(epoch=2, seed=5)
    expected = collator(rows)["labels"]

    for twin in (copy.deepcopy(collator), pickle.loads(pickle.dumps(collator))):
        assert torch.equal(twin(rows)["labels"], expected)
        twin.set_epoch(9)
    assert collator.epoch == 2


def _labels(collator, rows, workers: int, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    loader = DataLoader(rows, batch_size=2, collate_fn=collator, num_workers=workers)
    return torch.cat([batch["labels"] for batch in loader])


def test_workers_draw_apart_and_each_epoch_anew_without_being_told(collate, rows_of):
    rows = rows_of(1, 60) * 8  # the same example everywhere: only the draws can differ
    collator = collate()

    first, second = _labels(collator, rows, 2), _labels(collator, rows, 2, seed=1)
    again = _labels(collate(), rows, 2)

    assert len({tuple(row) for row in torch.cat([first, second]).tolist()}) == 16
    assert torch.equal(first, again)


def test_by_epoch_the_number_of_workers_changes_nothing(collate, rows_of):
    rows, collator = rows_of(8, 60), collate(epoch=0)

    assert torch.equal(_labels(collator, rows, 0), _labels(collator, rows, 2))


def test_an_epoch_that_is_set_reaches_living_workers(collate, rows_of):
    rows, collator = rows_of(4, 60), collate(epoch=0)
    loader = DataLoader(rows, batch_size=2, collate_fn=collator, num_workers=1, persistent_workers=True)

    epochs = []
    for epoch in (0, 1, 0):
        collator.set_epoch(epoch)
        epochs.append(torch.cat([batch["labels"] for batch in loader]))

    assert torch.equal(epochs[0], epochs[2]) and not torch.equal(epochs[0], epochs[1])


# --- refusals ---


def test_a_scheme_that_reads_tags_of_a_store_is_refused(collate):
    with pytest.raises(ConfigError, match="masking TaggedPhrases reads the tags of a prepared store"):
        collate(masking=TaggedPhrases())


def test_tokens_may_be_hidden_without_being_replaced(collate, rows_of):
    """For a model that replaces them itself, such as a generator."""
    rows = rows_of(3, 40)

    batch = collate(replacement=NoReplacement(), return_tensors="np")(rows)

    assert hidden_of(batch).any() and (batch["input_ids"] == np.stack(rows)).all()


def test_a_tokenizer_without_a_mask_token_is_refused():
    from transformers import GPT2Tokenizer

    with pytest.raises(ConfigError, match=r"has no mask token.*add_special_tokens.*resize_token_embeddings"):
        SpanMaskingCollator(GPT2Tokenizer())


def test_a_tokenizer_without_a_pad_token_is_refused_when_padding_is_needed(tokenizers_of):
    tokenizer = copy.deepcopy(tokenizers_of("gpt2"))
    tokenizer.pad_token = None
    collator = SpanMaskingCollator(tokenizer)

    assert collator([[5, 6]])["input_ids"].shape == (1, 2)
    with pytest.raises(ConfigError, match=r"no pad token.*set its pad_token"):
        collator([[5, 6], [7]])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"padding": "max_length"}, "needs max_length"),
        ({"padding": "always"}, "padding must be one of 'longest', 'max_length'"),
        ({"padding_side": "middle"}, "padding_side must be one of"),
        ({"return_tensors": "tf"}, "return_tensors must be one of"),
        ({"max_length": 0}, "max_length must be at least 1"),
        ({"pad_to_multiple_of": -8}, "pad_to_multiple_of must be at least 1"),
        ({"extra_keys": ("word_ids",)}, "extra_keys knows span_mask, spans; got 'word_ids'"),
    ],
)
def test_options_that_cannot_work_are_refused(collate, options, message):
    with pytest.raises(ConfigError, match=message):
        collate(**options)


def test_a_negative_epoch_is_refused(collate):
    with pytest.raises(ConfigError, match="0 or more, got -1"):
        collate().set_epoch(-1)


@pytest.mark.parametrize("ids", [[2, 500, 3], [2, -1, 3]])
def test_ids_of_another_tokenizer_are_refused(collate, ids):
    with pytest.raises(DataError, match="example 1 has an id outside 0 to 499"):
        collate()([[2, 20, 3], ids])


def test_a_replacement_that_shortens_is_refused(tokenizer):
    with pytest.raises(ConfigError, match="QuestionTokens makes sequences shorter"):
        SpanMaskingCollator(tokenizer, masking=RecurringGroups(), replacement=QuestionTokens())
