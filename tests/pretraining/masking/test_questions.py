"""Questions stand for spans that recur: one token each, the answer stays, and every other index follows its token."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_packs import CLS, pack_of, packs_of, with_ids, with_parts

from spanwise.config import from_record, override, to_record
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError, DataError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.nn.int8.encoder import Int8Encoder
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.collate import Collator, sequences_of
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.mask_record import mask_record
from spanwise.pretraining.masking import QuestionTokens, RecurringGroups, RecurringSpans, Replacement
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.masking.questions import shorten
from spanwise.pretraining.masking.replacement import ALL_MASKED
from spanwise.pretraining.mixtures.mixed_source import join_masked
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.packs import Spans

QUESTION, SIZE = 199, 200
IDS = np.arange(SIZE)
VOCABULARY = Vocabulary(
    size=SIZE,
    **{f"{name}_id": place for place, name in enumerate(("pad", "unk", "cls", "sep", "mask"))},
    is_special=(IDS < 5) | (IDS == QUESTION),
    starts_word=(IDS >= 5) & (IDS != QUESTION),
    unigram_counts=np.where(IDS == 190, 10**6, 1),  # no other word is frequent
    roles={"question": QUESTION},
)


IN_MEMORY = SimpleNamespace(vocabulary=VOCABULARY, side_arrays={})
"""What a collator asks of a store when its packs are made already."""


def pack_of_words(texts: list[list[int]]):
    """Few different words of one token, so that nearly everything recurs; 0 is a special."""
    pack = pack_of([[0, *(min(1, word) for word in text), 0] for text in texts])
    pack = with_ids(pack, [10 + word if word else CLS for text in texts for word in (0, *text, 0)])
    types = np.concatenate([np.arange(len(text) + 2) % 2 for text in texts])
    return replace(pack, token_type_ids=types, pair_labels=np.arange(len(texts)) % 2)


def collator_of(masking=None, replacement=None, objectives=None, **options) -> Collator:
    return with_parts(
        Collator,
        IN_MEMORY,
        format=SingleSegment(max_length=64),
        masking=masking or RecurringGroups(ratio=0.3),
        replacement=replacement or QuestionTokens(),
        objectives=objectives or {},
        seed=1,
        **options,
    )


class Asks:
    """An objective that asks for nothing."""

    name, needs, weight = "asks", frozenset({"questions"}), 1.0

    def targets(self, pack, spans, hidden):
        return type("Count", (), {"count": len(pack.questions.start)})()


TEXTS = st.lists(st.lists(st.integers(0, 4), max_size=40), min_size=1, max_size=5)
MIXED = {"mlm": MaskedLM(), "sbo": SpanBoundary()}


@settings(max_examples=80, deadline=None)
@given(TEXTS, st.sampled_from(["moves_up", "stays"]), st.booleans(), st.sampled_from([0.1, 0.3, 0.8]))
def test_every_token_that_is_left_maps_to_its_original(texts, following, is_mixed, ratio):
    pack = pack_of_words(texts)
    others = Replacement() if is_mixed else None
    collator = collator_of(
        (RecurringSpans if is_mixed else RecurringGroups)(ratio=ratio),
        QuestionTokens(following=following, others=others),
        MIXED if is_mixed else {"asks": Asks()},
    )
    masked = collator.mask(pack, 0)
    read, chosen, questions = masked.pack, masked.chosen, masked.pack.questions

    is_grouped = np.zeros(len(chosen.start), bool) if chosen.group is None else chosen.group >= 0
    left = np.ones(len(pack.input_ids), dtype=bool)
    for start, end in zip(chosen.start[is_grouped], chosen.end[is_grouped], strict=True):
        left[start + 1 : end] = False
    tokens = np.flatnonzero(left)
    assert is_mixed or is_grouped.any() or ratio < 0.8 or not any(_repeats(text) for text in texts)
    assert len(masked.input_ids) == len(read.input_ids) == len(tokens) == read.borders[-1]
    assert (masked.input_ids == QUESTION).sum() == is_grouped.sum() == len(questions.start)
    assert (read.input_ids[questions.start] == QUESTION).all() and not read.maskable[questions.start].any()
    plain = masked.input_ids != QUESTION
    np.testing.assert_array_equal(read.input_ids[plain], pack.input_ids[tokens][plain])
    for name in ("token_type_ids", "maskable", "starts_word"):
        np.testing.assert_array_equal(getattr(read, name)[plain], getattr(pack, name)[tokens][plain])
    assert read.pair_labels is pack.pair_labels and read.block_ids is pack.block_ids
    sequence_T = np.repeat(np.arange(len(texts)), np.diff(pack.borders))
    np.testing.assert_array_equal(np.repeat(np.arange(len(texts)), np.diff(read.borders)), sequence_T[tokens])
    if following == "stays":
        np.testing.assert_array_equal(read.positions, tokens - pack.borders[:-1][sequence_T[tokens]])
    else:
        assert read.positions is None

    hidden = masked.hidden
    assert pack.input_ids[tokens[hidden.position]].tolist() == hidden.original_ids.tolist()
    lone = np.flatnonzero(~is_grouped)
    assert tokens[masked.spans.start].tolist() == chosen.start[lone].tolist()
    assert (masked.spans.end - masked.spans.start).tolist() == (chosen.end - chosen.start)[lone].tolist()
    assert masked.spans.group is None
    assert (hidden.position >= masked.spans.start[hidden.span]).all()
    assert (hidden.position < masked.spans.end[hidden.span]).all()
    assert hidden.sequence.tolist() == masked.spans.sequence[hidden.span].tolist()
    for q, m in enumerate(np.flatnonzero(is_grouped)):  # the answer is there, as a whole, in the same sequence
        first, last = questions.kept[questions.group[q]]
        words = pack.input_ids[chosen.start[m] : chosen.end[m]].tolist()
        assert masked.input_ids[first:last].tolist() == words
        assert read.borders[questions.sequence[q]] <= first < last <= read.borders[questions.sequence[q] + 1]
        assert questions.start[q] == np.searchsorted(tokens, chosen.start[m])


def _repeats(text):
    words = [word for word in text if word]
    return len(set(words)) < len(words)


@pytest.mark.parametrize("following", ["moves_up", "stays"])
def test_batch_counts_and_positions_are_those_of_the_shorter_pack(following):
    pack = pack_of_words([[1, 2, 3, 1, 2, 3, 4, 1, 2, 3], [1, 1, 2, 0, 2, 3, 3]] * 5)
    collator = collator_of(replacement=QuestionTokens(following=following), objectives={"asks": Asks()})
    masked = collator.mask(pack, 0)
    batch = collator.batch(masked)
    assert batch.num_tokens == len(masked.input_ids) < len(pack.input_ids)
    assert batch.counts == {"asks": len(masked.pack.questions.start)}
    assert batch.sequences.lengths[: len(pack.block_ids)] == tuple(np.diff(masked.pack.borders).tolist())
    expected = masked.pack.positions
    if following == "moves_up":
        expected = Sequences.from_lengths(np.diff(masked.pack.borders)).positions.numpy()
    assert batch.sequences.positions[: batch.num_tokens].tolist() == expected.tolist()
    assert len(batch.input_ids) == batch.sequences.num_tokens == batch.num_tokens + batch.num_padding
    record = mask_record([masked])
    assert record["lengths"] == np.diff(pack.borders).tolist() and record["num_spans"] == len(masked.chosen.start)


@pytest.fixture(scope="module")
def encoder():
    config = EncoderConfig(
        vocab_size=SIZE, hidden_size=64, num_layers=2, num_heads=2, intermediate_size=64, max_positions=64
    )
    encoder = Encoder(config).eval()
    initialize(encoder, config, 0)
    return encoder


@pytest.mark.parametrize("following", ["moves_up", "stays"])
@pytest.mark.parametrize("kind", ["fp32", "int8", "rotary", "some rows"])
@torch.no_grad()
def test_nothing_that_is_left_out_is_read(encoder, following, kind):
    """Another word in place of a dropped piece moves no hidden state; a token that is left does."""
    pack = pack_of_words([[1, 2, 3, 1, 2, 3, 4, 4, 1, 2, 3], [1, 2, 0, 2, 1, 2]])
    collator = collator_of(replacement=QuestionTokens(following=following), objectives={"asks": Asks()})
    masked = collator.mask(pack, 0)
    dropped = masked.chosen.end[masked.chosen.end - masked.chosen.start > 1] - 1
    assert len(dropped)
    model = Int8Encoder(encoder) if kind == "int8" else encoder
    if kind == "rotary":
        model = Encoder(replace(encoder.config, rotary_base=10_000.0)).eval()
        initialize(model, model.config, 0)

    def states(changed):
        ids = pack.input_ids.copy()
        ids[changed] = 77
        replaced = collator.parts.replacement.apply(
            replace(pack, input_ids=ids), masked.chosen, np.zeros(2), VOCABULARY
        )
        short = collator.mask(pack, 0)
        tokens = np.flatnonzero(np.isin(np.arange(len(ids)), _left(pack, masked)))
        rows = torch.arange(0, len(tokens), 2) if kind == "some rows" else None
        sequences = sequences_of(short.pack)
        types = torch.from_numpy(short.pack.token_type_ids)
        return model(torch.from_numpy(replaced[tokens]), types, sequences, rows)

    before = states([])
    assert torch.equal(states(dropped), before)
    visible = int(masked.chosen.kept[masked.chosen.group[0], 0])
    assert not torch.equal(states([visible]), before)


def _left(pack, masked):
    out = [np.arange(a + 1, b) for a, b in zip(masked.chosen.start, masked.chosen.end, strict=True)]
    return np.setdiff1d(np.arange(len(pack.input_ids)), np.concatenate(out))


@torch.no_grad()
def test_what_stays_at_its_position_is_read_there(encoder):
    """Rows of the position table are those of the text: one sequence with a gap equals none without it."""
    ids, types = torch.tensor([2, 50, 51, 52, 2]), torch.zeros(5, dtype=torch.int64)
    plain = Sequences.from_lengths([5])
    gaps = replace(plain, positions=torch.tensor([0, 1, 5, 6, 7]), num_positions=8)
    table = encoder.embeddings.position.weight
    kept = table.clone()
    expected = encoder(ids, types, gaps)
    table[2:5] = kept[5:8]
    assert torch.equal(encoder(ids, types, plain), expected)
    table.copy_(kept)
    assert not torch.equal(encoder(ids, types, plain), expected)


@torch.no_grad()
def test_hidden_states_are_those_of_pieces_outside_attention(tmp_path):
    """Splinter's code keeps a question's other pieces as [PAD] under a mask of 0; transformers' BERT is the judge."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    theirs = transformers.BertModel(
        transformers.BertConfig(vocab_size=SIZE, max_position_embeddings=64, **sizes)
    ).eval()
    theirs.save_pretrained(tmp_path)
    ours = build_encoder(read_folder(tmp_path)).eval()
    pack = pack_of_words([[1, 2, 3, 1, 2, 3, 4, 4, 1, 2, 3, 5, 6]])
    pack = replace(pack, token_type_ids=np.zeros_like(pack.token_type_ids))
    masked = collator_of(replacement=QuestionTokens(following="stays"), objectives={"asks": Asks()}).mask(pack, 0)
    tokens = _left(pack, masked)
    ids, attended = torch.zeros(len(pack.input_ids), dtype=torch.int64), torch.zeros(len(pack.input_ids))
    ids[tokens], attended[tokens] = torch.from_numpy(masked.input_ids), 1.0
    assert len(tokens) < len(ids) - 2

    expected = theirs(input_ids=ids[None], attention_mask=attended[None]).last_hidden_state[0, tokens]
    found = ours(
        torch.from_numpy(masked.input_ids), torch.from_numpy(masked.pack.token_type_ids), sequences_of(masked.pack)
    )

    assert (found - expected).abs().max() < 1e-5


def test_positions_beyond_the_table_are_refused(encoder):
    sequences = replace(Sequences.from_lengths([3]), positions=torch.tensor([0, 1, 64]), num_positions=65)
    moved = sequences.to("cpu").with_filler(4)
    assert moved.num_positions == 65
    for one in (sequences, moved):
        with pytest.raises(DataError, match="65 tokens"):
            encoder.check_lengths(one)


def test_packs_of_several_stores_keep_their_questions():
    packs = [pack_of_words([[1, 2, 3, 1, 2, 3, 4]] * 2), pack_of_words([[1, 2, 1, 2, 0, 3]] * 3)]
    collator = collator_of(replacement=QuestionTokens(following="stays"), objectives={"asks": Asks()})
    parts = [collator.mask(pack, 0) for pack in packs]
    whole = join_masked(parts)
    questions, first = whole.pack.questions, len(parts[0].input_ids)
    assert len(whole.pack.positions) == len(whole.input_ids) == sum(len(part.input_ids) for part in parts)
    seconds = parts[1].pack.questions
    own = questions.sequence >= 2
    assert (questions.start[own] - first).tolist() == seconds.start.tolist()
    assert (questions.kept[questions.group[own]] - first).tolist() == seconds.kept[seconds.group].tolist()
    assert len(whole.text.input_ids) == sum(len(pack.input_ids) for pack in packs)
    assert not set(questions.group[own]) & set(questions.group[~own])


def test_beside_questions_the_other_spans_are_replaced_as_ever():
    pack = pack_of_words([[1, 2, 1, 2, 3, *range(20, 60), 4, 4, 3, 1]] * 20)
    collator = collator_of(RecurringSpans(ratio=0.5), QuestionTokens(others=ALL_MASKED), MIXED)
    masked = collator.mask(pack, 0)
    assert len(masked.hidden.position) and len(masked.pack.questions.start)
    assert (masked.input_ids[masked.hidden.position] == VOCABULARY.mask_id).all()
    assert (masked.input_ids == VOCABULARY.mask_id).sum() == len(masked.hidden.position)
    targets = collator.batch(masked).targets["sbo"]
    borders = np.concatenate([targets.left, targets.right])
    assert not np.isin(borders, masked.hidden.position).any()  # a question may be a border, a hidden token never


def test_it_is_a_part_like_any_other():
    part = QuestionTokens(others=Replacement(mask=1.0, random=0.0, keep=0.0), following="stays")
    assert from_record(to_record(part), [QuestionTokens, Replacement]) == part
    assert part.measured().others == ALL_MASKED and QuestionTokens().measured() == QuestionTokens()


def test_a_vocabulary_without_the_piece_is_refused():
    pack = pack_of_words([[1, 2, 1, 2]])
    spans = RecurringGroups(ratio=0.5).select(pack, np.zeros(1, dtype=np.uint64))
    with pytest.raises(ConfigError, match=r"no such piece; learn it with `--roles question`"):
        QuestionTokens().apply(pack, spans, np.zeros(1, dtype=np.uint64), replace(VOCABULARY, roles={}))


@pytest.mark.parametrize(
    ("masking", "replacement", "objectives", "words"),
    [
        (RecurringGroups(), QuestionTokens(), {"mlm": MaskedLM()}, "objective 'mlm'.*QuestionTokens leaves one token"),
        (RecurringSpans(), QuestionTokens(), {"asks": Asks()}, "RecurringSpans hides spans without a group too"),
        (RecurringGroups(), QuestionTokens(others=Replacement()), MIXED, "RecurringGroups gives groups alone"),
        (None, QuestionTokens(), {"asks": Asks()}, "masking GeometricSpans gives none"),
        (RecurringGroups(), Replacement(), {"asks": Asks()}, "objective 'asks' asks for questions; .* Replacement"),
    ],
)
def test_what_does_not_go_together_is_refused_by_both_names(masking, replacement, objectives, words):
    from spanwise.pretraining.masking import GeometricSpans

    with pytest.raises(ConfigError, match=words):
        collator_of(masking or GeometricSpans(), replacement, objectives)


def test_a_recipe_of_questions_is_checked_before_any_file():
    from spanwise.pretraining.system import check
    from spanwise.recipes import find

    base = find("spanbert-recurring-mini")
    check(replace(base, replacement=QuestionTokens(others=Replacement())))
    with pytest.raises(ConfigError, match="QuestionTokens"):
        check(replace(base, replacement=QuestionTokens()))
    changed = override(replace(base, replacement=QuestionTokens(others=Replacement())), ["replacement.following=stays"])
    assert changed.replacement.following == "stays"


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
