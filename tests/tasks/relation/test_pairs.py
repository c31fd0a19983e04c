"""Words as a text, and mentions that stand in it."""

import pytest

from spanwise.errors import DataError
from spanwise.tasks.relation.pairs import Mention, checked_pair, text_of_words


def test_words_become_a_text_whose_mentions_are_characters():
    found = text_of_words(["Ada", "-LRB-", "born", "in", "서울", "-RRB-"], "here")
    assert found.text == "Ada ( born in 서울 )"
    mention = found.mention(3, 4, "PLACE")
    assert found.text[mention.start : mention.end] == "in 서울" and mention.type == "PLACE"


@pytest.mark.parametrize("words", [None, [], "Ada was", ["Ada", ""], ["Ada", 3]])
def test_what_is_no_list_of_words_is_refused(words):
    with pytest.raises(DataError, match="here is no list of words"):
        text_of_words(words, "here")


@pytest.mark.parametrize("mention", [Mention(0, 0), Mention(2, 99), Mention(-1, 2), Mention(3, 4)])
def test_a_mention_stands_in_its_text(mention):
    with pytest.raises(DataError, match=r"here: the object \S+ (is empty or outside|holds blanks)"):
        checked_pair("1", "Ada was", Mention(0, 3), mention, "x", "here")
