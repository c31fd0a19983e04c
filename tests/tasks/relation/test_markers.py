"""Every way of showing mentions, overlap included."""

import pytest

from spanwise.errors import ConfigError
from spanwise.tasks.relation.markers import ANY, lay_out, marker_ids, marker_names
from spanwise.tasks.relation.pairs import Mention, Pair

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
