"""Units at their tokens: first pieces, pieces of characters, windows."""

import numpy as np
import pytest
import tokenizers
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.tagging.features import TagTargets, encode_sentences, tag_loss
from spanwise.tasks.tagging.sentences import Sentence, TaggedData
from spanwise.tasks.tagging.spans import tag_names
from spanwise.text.tokenizers import Tokenizer


def words(*sentences, kind="entities"):
    made = []
    for number, pairs in enumerate(sentences):
        units, text = [], ""
        for word, _ in pairs:
            units.append((len(text), len(text) + len(word)))
            text += word + " "
        made.append(Sentence(text.rstrip(), tuple(units), tuple(tag for _, tag in pairs), f"x, line {number}"))
    return TaggedData(source="x", sentences=tuple(made), level="words", kind=kind)


def encode(data, tokenizer, *, max_length=64, labels=(), **options):
    return encode_sentences(
        data, tokenizer, max_length=max_length, stride=None, num_token_types=2, labels=labels, **options
    )


def read_at(rows, tokenizer, row=0):
    batch = rows.assemble(np.array([row]))
    return tokenizer.tokens(batch.input_ids[batch.targets["tags"].rows].numpy())


def test_a_word_is_read_at_its_first_piece_and_the_tags_are_the_models(tokenizer):
    data = words([("bridge", "I-X"), ("going", "I-X"), ("...", "O"), ("Seoul", "I-Y")])
    labels = tag_names(["X", "Y"])
    rows = encode(data, tokenizer, labels=labels)
    assert read_at(rows, tokenizer) == ["bridge", "g", ".", "Seoul"]
    gold = rows.assemble(np.array([0])).targets["tags"].gold
    assert [labels[k] for k in gold] == ["B-X", "I-X", "O", "B-Y"]
    assert rows.assemble(np.array([0])).counts == {"tags": 4}
    ends = encode(data, tokenizer, labels=tag_names(["X", "Y"], "IOBES"), scheme="IOBES")
    assert [tag_names(["X", "Y"], "IOBES")[k] for k in ends.gold] == ["B-X", "E-X", "O", "S-Y"]


def test_a_word_of_which_the_tokenizer_keeps_nothing_is_unknown(tokenizer):
    rows = encode(words([("a", "O"), ("\u200b\u00ad", "O"), ("b", "O")]), tokenizer)
    assert len(read_at(rows, tokenizer)) == 3 and read_at(rows, tokenizer)[2] == "b"


def test_every_unit_is_read_once_in_the_window_that_shows_most_around_it(tokenizer):
    letters = "abcdefghijklmnop"
    data = words([(sign, "O") for sign in letters], [("q", "O")])
    rows = encode(data, tokenizer, max_length=8, labels=("O", "B-X"))
    assert rows.num_sequences_W.tolist() == [5, 1]
    batch = rows.assemble(np.array([1, 0]))
    assert batch.targets["tags"].num_units == (1, 16)
    assert "".join(tokenizer.tokens(batch.input_ids[batch.targets["tags"].rows].numpy())) == "q" + letters
    with pytest.raises(DataError, match="x, line 0: 18 tokens, and at most 8 fit"):
        encode(data, tokenizer, max_length=8, on_overflow="error")
    with pytest.raises(ConfigError, match="leaves no room"):
        encode(data, tokenizer, max_length=2)


def characters(text, tags):
    units = tuple((n, n + 1) for n in range(len(text)))
    return TaggedData(
        source="x", sentences=(Sentence(text, units, tuple(tags), "x"),), level="characters", kind="entities"
    )


def test_labels_that_end_inside_a_word_are_read_at_pieces_and_unreachable_ones_counted(tokenizer):
    labels = tag_names(["X"])
    within = encode(characters("bridging km", ["B-X"] + ["I-X"] * 4 + ["O"] * 6), tokenizer, labels=labels)
    pieces = read_at(within, tokenizer)
    assert pieces == ["b", "##r", "##i", "##d", "##g", "##ing", "km"] and within.num_unreached == 0
    assert [labels[k] for k in within.gold] == ["B-X", *["I-X"] * 4, "O", "O"]
    inside = encode(characters("Seoul", ["B-X", "I-X", "I-X", "O", "O"]), tokenizer, labels=labels)
    assert [labels[k] for k in inside.gold] == ["B-X"] and inside.num_unreached == 1
    two = encode(characters("Seoul", ["B-X", "I-X", "B-X", "I-X", "I-X"]), tokenizer, labels=labels)
    assert two.num_unreached == 2 and [labels[k] for k in two.gold] == ["B-X"]


def byte_bpe():
    signs = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {piece: n for n, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(signs), "Ġa"])}
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, [("Ġ", "a")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    roles = {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    return Tokenizer(backend, specials=roles)


def test_byte_level_pieces_are_those_of_running_text_and_spans_leave_out_the_blank():
    tokenizer = byte_bpe()
    rows = encode(words([("b", "O"), ("a", "O")]), tokenizer)
    assert read_at(rows, tokenizer)[1] == "Ġa"
    spans = encode(characters("b a", "OOO"), tokenizer).unit_spans[0]
    assert spans.tolist()[-1] == [2, 3]


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1, max_size=30))
def test_any_text_gives_units_inside_it(tokenizer, text):
    data = characters(text, ["O"] * len(text))
    rows = encode(data, tokenizer, max_length=6)
    spans = rows.unit_spans[0]
    assert ((spans[:, 0] >= 0) & (spans[:, 1] <= len(text)) & (spans[:, 0] <= spans[:, 1])).all()
    assert len(read_at(rows, tokenizer)) == len(spans)


def test_tokens_that_are_no_unit_add_nothing():
    scores = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
    rows, gold = torch.tensor([4, 1]), torch.tensor([2, 0])
    found = tag_loss(scores, TagTargets(rows, (1, 1), gold))
    torch.testing.assert_close(found.sum, F.cross_entropy(scores[rows], gold, reduction="sum"))
    found.sum.backward()
    assert scores.grad[[0, 2, 3, 5]].abs().sum() == 0 and scores.grad[rows].abs().sum() > 0
    assert found.num_correct == (scores[rows].argmax(1) == gold).sum()


def test_no_unit_is_no_loss():
    scores = torch.randn(2, 3, requires_grad=True)
    empty = torch.zeros(0, dtype=torch.int64)
    found = tag_loss(scores, TagTargets(empty, (0,), empty))
    found.sum.backward()
    assert found.sum == 0 and scores.grad is not None
