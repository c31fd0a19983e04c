"""Sequences that always show both mentions and their marks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.relation.features import ANY, encode_pairs, lay_out, marker_ids, marker_names
from spanwise.tasks.relation.pairs import Mention, Pair, RelationData
from spanwise.text.learn import learn_tokenizer


def data_of(*pairs):
    return RelationData(source="x", pairs=pairs, format="spans")


def tokens_of(data, tokenizer, way, *, max_length=64, **options):
    names = marker_names(way, data.pairs)
    rows = encode_pairs(data, tokenizer, markers=way, names=names, max_length=max_length, num_token_types=2, **options)
    batch = rows.assemble(np.array([0]))
    return tokenizer.tokens(batch.input_ids.numpy()), rows, batch


def letters(subject, object, length=26, type="A"):
    text = " ".join(chr(ord("a") + n) for n in range(length))
    mention = [Mention(2 * a, 2 * b - 1, type) for a, b in (subject, object)]
    return Pair("1", text, mention[0], mention[1], "x", "here")


def test_a_mention_is_one_marker_or_stands_between_two(marked_tokenizer):
    pair = Pair("1", "The Han [SEP] is", Mention(4, 7, "R"), Mention(14, 16, "V"), "x", "here")
    tokens, _, batch = tokens_of(data_of(pair), marked_tokenizer, "ner")
    assert tokens == ["[CLS]", "The", "[unused2]", "[", "S", "##E", "##P", "]", "[unused4]", "[SEP]"]
    assert batch.token_type_ids.max() == 0
    tokens, _, _ = tokens_of(data_of(pair), marked_tokenizer, "ner_text")
    assert tokens[-5:] == ["[SEP]", "Han", "[SEP]", "is", "[SEP]"]
    tokens, _, _ = tokens_of(data_of(pair), marked_tokenizer, "text")
    assert tokens[1:5] == ["The", "[unused1]", "Han", "[unused2]"]


def test_what_is_farthest_from_both_mentions_goes_first(marked_tokenizer):
    tokens, rows, _ = tokens_of(data_of(letters((5, 6), (17, 18))), marked_tokenizer, "text", max_length=16)
    shown = "".join(token for token in tokens if len(token) == 1)
    assert shown == "defgpqrstu"[: len(shown)] or set("fr") <= set(shown)
    assert len(tokens) == 16 and rows.num_dropped_W.tolist() == [26 + 4 + 2 - 16]
    assert shown == "".join(sorted(shown)) and {"e", "g", "q", "s"} <= set(shown)


@pytest.mark.parametrize(("way", "marks"), [("text_ner", 8), ("ner_text", 6)])
def test_what_stands_behind_the_text_keeps_no_words_near_it(marked_tokenizer, way, marks):
    pair = letters((5, 6), (7, 8))
    tokens, _, _ = tokens_of(data_of(pair), marked_tokenizer, way, max_length=2 + marks + 8)
    words = [token for token in tokens[: tokens.index("[SEP]")] if len(token) == 1]
    assert {"d", "e", "g", "i", "j"} <= set(words) and not {"y", "z"} & set(words), words


@pytest.mark.parametrize("way", ["text", "text_ner", "ner_text", "typed", "punct"])
def test_no_two_mentions_of_a_short_text_lose_their_first_word_or_a_mark(marked_tokenizer, way):
    mentions = [(start, end) for start in range(5) for end in range(start + 1, 6)]
    pairs = [letters(subject, object, length=5, type="Z") for subject in mentions for object in mentions]
    signs = {"text": 4, "text_ner": 8, "ner_text": 4, "typed": 4, "punct": 10}[way]  # with separators and types
    for room in range(signs + 4, signs + 7):
        names = marker_names(way, pairs)
        rows = encode_pairs(
            data_of(*pairs), marked_tokenizer, markers=way, names=names, max_length=room, num_token_types=2
        )
        for number, pair in enumerate(pairs):
            tokens = marked_tokenizer.tokens(rows.assemble(np.array([number])).input_ids.numpy())
            assert {pair.text[pair.subject.start], pair.text[pair.object.start]} <= set(tokens), (pair, room)
            assert sum(len(token) > 1 or not "a" <= token <= "e" for token in tokens) == signs + 2, (pair, room)


@settings(max_examples=40, deadline=None)
@given(
    a=st.integers(0, 24), b=st.integers(1, 5), c=st.integers(0, 24), d=st.integers(1, 5), room=st.integers(14, 40),
    way=st.sampled_from(["ner", "text", "text_ner", "ner_text", "typed", "punct"]),
)  # fmt: skip
def test_both_mentions_stay_however_short_the_sequence(marked_tokenizer, a, b, c, d, room, way):
    pair = letters((a, min(26, a + b)), (c, min(26, c + d)))
    tokens, rows, _ = tokens_of(data_of(pair), marked_tokenizer, way, max_length=room)
    assert len(tokens) <= room
    if way in ("ner", "text", "text_ner", "typed"):
        names = marker_names(way, [pair])
        used = {token for token in tokens if token.startswith("[unused")}
        needed = {"ner": 2, "text": 4, "text_ner": 6, "typed": 4}[way]
        assert len(used) == needed <= len(names)
    if way != "ner":
        assert pair.text[pair.subject.start] in tokens and pair.text[pair.object.start] in tokens
    whole, _, _ = tokens_of(data_of(pair), marked_tokenizer, way, max_length=90)
    assert rows.num_dropped_W.tolist() == [len(whole) - len(tokens)]


def test_mentions_that_are_too_long_lose_their_last_words(marked_tokenizer):
    tokens, _, _ = tokens_of(data_of(letters((0, 13), (13, 26))), marked_tokenizer, "text", max_length=12)
    shown = [token for token in tokens if len(token) == 1]
    assert shown[0] == "a" and "n" in shown and len(tokens) == 12


def test_too_long_is_refused_by_word_and_by_length(marked_tokenizer):
    data = data_of(letters((5, 6), (17, 18)))
    with pytest.raises(DataError, match="here: 32 tokens, and at most 16 fit"):
        tokens_of(data, marked_tokenizer, "text", max_length=16, on_overflow="error")
    with pytest.raises(ConfigError, match="leaves no room for two mentions"):
        tokens_of(data, marked_tokenizer, "text_ner", max_length=10)


TEXT = "Ada was born in London ."
PAIR = Pair("1", TEXT, Mention(0, 3, "PERSON"), Mention(16, 22, "CITY"), "x", "here")
REVERSED = Pair("2", TEXT, Mention(16, 22, "CITY"), Mention(0, 3, "PERSON"), "x", "here")


def shown(pair, way, names=None):
    names = marker_names(way, [PAIR, REVERSED]) if names is None else names
    items = lay_out(pair, way, names)
    return " ".join((f"<{item.marker}>" if item.marker else item.text.strip()) for item in items).replace("  ", " ")


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("ner", "<SUBJ=PERSON> was born in <OBJ=CITY> ."),
        ("text", "<SUBJ_START> Ada <SUBJ_END> was born in <OBJ_START> London <OBJ_END> ."),
        (
            "text_ner",
            "<SUBJ_START> Ada <SUBJ_END> was born in <OBJ_START> London <OBJ_END> . "
            "<[SEP]> <SUBJ=PERSON> <[SEP]> <OBJ=CITY>",
        ),
        ("ner_text", "<SUBJ=PERSON> was born in <OBJ=CITY> . <[SEP]> Ada <[SEP]> London"),
        ("typed", "<SUBJ=PERSON> Ada </SUBJ=PERSON> was born in <OBJ=CITY> London </OBJ=CITY> ."),
        ("punct", "@ * person * Ada @ was born in # ^ city ^ London # ."),
    ],
)
def test_each_way_shows_the_mentions_as_its_paper_draws_it(way, expected):
    assert shown(PAIR, way) == expected


def test_bytes_of_a_text_with_signs_are_those_of_running_text(tiny_text):
    words = learn_tokenizer(tiny_text, vocab_size=400, kind="byte-bpe", min_frequency=1)
    behind = Pair("3", "so (Ada) left Ada", Mention(14, 17, "PERSON"), Mention(4, 7, ""), "x", "here")
    texts = {
        "@ * person * Ada @ was born in # ^ city ^ London # .": PAIR,
        "# ^ person ^ Ada # was born in @ * city * London @ .": REVERSED,
        "so ( # Ada #) left @ * person * Ada @": behind,
    }
    for text, pair in texts.items():
        _, _, batch = tokens_of(data_of(pair), words, "punct")
        assert batch.input_ids.tolist()[1:-1] == words.encode(text).ids.tolist(), text


def test_roles_follow_the_mentions_not_their_order():
    assert shown(REVERSED, "text") == "<OBJ_START> Ada <OBJ_END> was born in <SUBJ_START> London <SUBJ_END> ."
    assert shown(REVERSED, "ner") == "<OBJ=PERSON> was born in <SUBJ=CITY> ."


@pytest.mark.parametrize(
    ("subject", "object", "text_way", "ner_way"),
    [
        # one inside the other
        ((0, 7), (4, 7), "<S> the <O> han <s><o> river", "<S= > <O= > river"),
        # equal
        ((4, 7), (4, 7), "the <S><O> han <o><s> river", "the <S= ><O= > river"),
        # crossing
        ((0, 7), (4, 13), "<S> the <O> han <s> river <o>", "<S= > <O= >"),
        # touching
        ((0, 3), (3, 7), "<S> the <s><O> han <o> river", "<S= > <O= > river"),
    ],
)
def test_mentions_that_overlap_are_nested_and_none_of_their_words_is_shown_as_type(subject, object, text_way, ner_way):
    pair = Pair("1", "the han river", Mention(*subject, "A"), Mention(*object, "A"), "x", "here")
    short = {"SUBJ_START": "S", "SUBJ_END": "s", "OBJ_START": "O", "OBJ_END": "o"}
    items = lay_out(pair, "text", marker_names("text", [pair]))
    found = [f"<{short[item.marker]}>" if item.marker else item.text.strip() for item in items]
    opened = [item for item in found if item.startswith("<")]
    assert sorted(opened) == ["<O>", "<S>", "<o>", "<s>"]
    if subject == object:
        assert opened == ["<S>", "<O>", "<o>", "<s>"]
    if subject == (0, 7) and object == (4, 7):
        assert opened == ["<S>", "<O>", "<o>", "<s>"]
    if subject[1] == object[0]:
        assert opened == ["<S>", "<s>", "<O>", "<o>"]
    assert [word for word in found if not word.startswith("<")] == ["the", "han", "river"]
    typed = lay_out(pair, "ner", marker_names("ner", [pair]))
    outside = "".join(item.text for item in typed if not item.marker).split()
    covered = set(range(*subject)) | set(range(*object))
    assert outside == [word for word, at in (("the", 0), ("han", 4), ("river", 8)) if at not in covered]
    assert [item.marker for item in typed if item.marker] == ["SUBJ=A", "OBJ=A"]


def test_names_depend_on_the_set_of_types_alone_and_unknown_types_have_a_marker():
    names = marker_names("ner", [REVERSED, PAIR])
    assert names == marker_names("ner", [PAIR, REVERSED, PAIR])
    assert names == ("SUBJ=*", "SUBJ=CITY", "SUBJ=PERSON", "OBJ=*", "OBJ=CITY", "OBJ=PERSON")
    other = Pair("3", TEXT, Mention(0, 3, "RIVER"), Mention(16, 22, ""), "x", "here")
    assert shown(other, "ner", names) == f"<SUBJ={ANY}> was born in <OBJ={ANY}> ."
    assert marker_names("punct", [PAIR]) == () and len(marker_names("typed", [PAIR])) == 8


def test_markers_are_the_free_pieces_in_their_order(marked_tokenizer, tokenizer):
    ids = marker_ids(("A", "B"), marked_tokenizer)
    assert [marked_tokenizer.tokens([id])[0] for id in ids.values()] == ["[unused1]", "[unused2]"]
    with pytest.raises(ConfigError, match="12 free pieces"):
        marker_ids([str(number) for number in range(13)], marked_tokenizer)
    with pytest.raises(ConfigError, match="0 free pieces"):
        marker_ids(("A",), tokenizer)
