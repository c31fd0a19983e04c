"""Some verbs are said in other words; what is no verb, or has no other word, stays."""

import random

from spanwise.questions.korean.synonyms import varied


def found(question):
    return {varied(question, random.Random(key)) for key in range(40)}


def test_verbs_have_other_words():
    assert found("김수연이 설립한 곳은") == {f"김수연이 {word}한 곳은" for word in ("설립", "창립", "창설")}


def test_nouns_and_other_words_stay():
    for question in ("설립 연도는", "재설립한 곳은", "걸어간 곳은"):
        assert found(question) == {question}
