"""The passage of a question holds its answer, not its sentence, and speaks of the same."""

import pytest

from spanwise.questions.english import EnglishRules
from spanwise.questions.pairing import MOST_PLACES, Pairing, pairs_of
from spanwise.questions.parts import Sentence, Span

FAR = "Gravel roads lead up from the station. The hotel keeps sheep."


def paired(passages, asked):
    rules = EnglishRules()
    sentences = rules.read(passages)
    pair = next(pair for pair in pairs_of(sentences) if pair.sentence.passage == 0 and pair.span.text == asked)
    return pair, Pairing(passages, sentences, rules)


def test_the_passage_that_shares_rare_words_is_taken_and_the_answer_stands_there():
    passages = [
        "In the north, Mira Holt painted the harbour of Brenn with slow strokes. Nobody came.",
        "Years ago Mira Holt bought a red car. It was quick.",
        "People say Mira Holt loved the harbour. Her painted boats sold well.",
    ]
    pair, pairing = paired(passages, "Mira Holt")
    found = pairing.passage_for("Who painted the harbour of Brenn with slow strokes?", pair)
    assert found.passage.number == 2
    assert found.passage.text[found.start :].startswith("Mira Holt")


def test_of_a_name_that_stands_everywhere_the_places_around_it_count():
    """Else a document of one sentence ten thousand times would take a hundred million pairs."""
    sentences = [
        Sentence(number, 0, 9, "Ada sang.", (Span(0, 3, "Ada", "person"),), frozenset()) for number in range(1000)
    ]
    found = pairs_of(sentences)
    assert len(found) == 1000 and {len(pair.others) for pair in found} == {MOST_PLACES - 1}
    for number, first in ((0, 0), (500, 500 - MOST_PLACES // 2), (999, 1000 - MOST_PLACES)):
        around = range(first, first + MOST_PLACES)
        assert [sentence.passage for sentence, _ in found[number].others] == [n for n in around if n != number]
    few = pairs_of(sentences[:MOST_PLACES])
    assert {len(pair.others) for pair in few} == {MOST_PLACES - 1}


def test_a_passage_that_shares_no_word_is_refused():
    pair, pairing = paired(
        ["In the north, Mira Holt painted the harbour of Brenn.", f"So Mira Holt left. {FAR}"], "Mira Holt"
    )
    assert pairing.passage_for("Who painted the harbour of Brenn?", pair) is None


def test_a_passage_that_has_nearly_all_words_is_refused():
    first = "In the north, Mira Holt painted the harbour of Brenn with slow strokes."
    copy = "One summer, Mira Holt painted the harbour of Brenn with slow strokes again."
    pair, pairing = paired([first, copy], "Mira Holt")
    assert pairing.passage_for("Who painted the harbour of Brenn with slow strokes?", pair) is None


@pytest.mark.parametrize("order", [0, 1])
def test_in_its_own_passage_the_sentence_itself_is_taken_out(order):
    asked = "In the north, Mira Holt painted the harbour of Brenn."
    other = "People say Mira Holt loved the harbour more than boats."
    passage = f"{asked} {FAR} {other}" if order else f"{other} {FAR} {asked}"
    rules = EnglishRules()
    sentences = rules.read([passage])
    pair = next(pair for pair in pairs_of(sentences) if pair.sentence.text == asked and pair.span.text == "Mira Holt")
    found = Pairing([passage], sentences, rules).passage_for("Who painted the harbour of Brenn?", pair)
    assert asked not in found.passage.text
    assert found.passage.text == (f"{FAR} {other}" if order else f"{other} {FAR}")
    assert found.passage.text[found.start :].startswith("Mira Holt")


def test_numbers_pair_only_with_the_same_unit():
    passages = ["The zoo of Brenn keeps 40 tigers.", "A truck brought 40 chairs.", "In spring the zoo fed 40 tigers."]
    pairs = [pair for pair in pairs_of(EnglishRules().read(passages)) if pair.span.text == "40"]
    assert [(pair.sentence.passage, pair.others[0][0].passage) for pair in pairs] == [(0, 2), (2, 0)]


def test_what_stands_once_is_paired_with_nothing_if_asked_for():
    sentences = EnglishRules().read(["The zoo of Brenn keeps 40 tigers."])
    assert not pairs_of(sentences)
    assert [(pair.span.text, pair.others) for pair in pairs_of(sentences, alone=True) if pair.span.unit] == [("40", ())]


def test_passages_without_the_answer_come_nearest_first():
    passages = [
        "In the north, Mira Holt painted the harbour of Brenn.",
        "People say Mira Holt loved boats.",
        "The harbour froze.",
        "The harbour of Brenn was painted white.",
        "MIRA HOLT painted a harbour.",
    ]
    pair, pairing = paired(passages, "Mira Holt")
    found = [passage.number for passage in pairing.without_answer("Who painted the harbour of Brenn?", pair)]
    assert found == [3, 2]
