"""What both languages share."""

import random

from spanwise.questions.english import EnglishRules
from spanwise.questions.korean import KoreanRules
from spanwise.questions.parts import FORMS, KINDS, Rules


def test_both_languages_answer_to_the_same_calls(english, korean):
    for rules, passages in ((EnglishRules(), english), (KoreanRules(), korean)):
        checked: Rules = rules
        for sentence in checked.read(passages):
            assert passages[sentence.passage][sentence.start : sentence.end] == sentence.text
            for span in sentence.spans:
                assert sentence.text[span.start : span.end] == span.text
                assert span.kind in KINDS
                assert checked.holds(sentence.text, span.text)
                for form in FORMS:
                    asked = checked.ask(sentence, span, form)
                    assert asked is None or checked.asked(sentence, asked) <= sentence.content
                again = checked.rephrased(sentence, span, random.Random(1))
                assert again is None or not checked.holds(again, span.text)
            assert sentence.content == checked.content(sentence.text)
