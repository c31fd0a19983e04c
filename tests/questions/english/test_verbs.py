"""Finite verbs and their base forms."""

import pytest

from spanwise.questions.english.verbs import base_of, is_participle

PAST = {
    "wrote": "write", "published": "publish", "created": "create", "visited": "visit", "died": "die",
    "carried": "carry",
    "planned": "plan", "controlled": "control", "called": "call", "remained": "remain", "believed": "believe",
    "raised": "raise", "named": "name", "used": "use", "agreed": "agree", "developed": "develop", "changed": "change",
    "belonged": "belong", "offered": "offer", "determined": "determine", "passed": "pass", "argued": "argue",
}  # fmt: skip


@pytest.mark.parametrize(("verb", "base"), PAST.items())
def test_past_forms_go_back_to_their_base(verb, base):
    assert base_of(verb) == ("did", base)


def test_present_forms_take_does_and_other_words_nothing():
    assert base_of("contains") == ("does", "contain")
    assert base_of("carries") == ("does", "carry")
    assert [base_of(word) for word in ("table", "hundred", "red", "species", "need")] == [None] * 5


def test_participles():
    assert is_participle("written") and is_participle("founded") and is_participle("growing")
    assert not is_participle("thing") and not is_participle("house")
