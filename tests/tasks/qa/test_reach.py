"""What a vocabulary can point at, on pieces that can be counted by hand."""

import dataclasses

import numpy as np
import pytest

from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.metrics import METRICS
from spanwise.tasks.qa.reach import measure_reach
from spanwise.text.tokenizers import Encoding

SQUAD = METRICS["squad"]


def pieces(context, *borders):
    """A passage cut at these characters."""
    places = np.array([0, *borders, len(context)])
    offsets = np.stack([places[:-1], places[1:]], axis=1)
    return Encoding(ids=np.arange(len(offsets)), offsets=offsets, word_ids=np.arange(len(offsets)))


def reach_of(context, passage, *golds, metric=SQUAD, max_answer_tokens=30, allow_null=True):
    answers = [tuple(Answer(text, context.find(text)) for text in texts) for texts in golds]
    data = SquadData(
        source="own",
        version="",
        contexts=(context,),
        titles=("",),
        questions=tuple(Question(str(k), "?", 0, found) for k, found in enumerate(answers)),
        has_unanswerable=() in answers,
    )
    places = np.zeros(len(golds), dtype=int)
    return measure_reach(data, [passage], places, metric, max_answer_tokens=max_answer_tokens, allow_null=allow_null)


def test_an_answer_that_ends_inside_a_piece_cannot_be_reached():
    context = "서울에서 한강까지"
    whole = pieces(context, 4, 5)
    found = reach_of(context, whole, ["서울에서"], ["서울"], ["한강까지"])
    assert (found.num_answerable, found.num_off_borders, found.num_unmatched) == (3, 1, 1)
    assert found.off_borders == found.record()["off_borders"] == pytest.approx(100 / 3)
    assert found.exact_ceiling == pytest.approx(200 / 3)
    assert "1 of 3 answers (33.3 %)" in str(found) and "cannot pass 66.7" in str(found)
    assert reach_of(context, pieces(context, 2, 4, 5), ["서울"]).exact_ceiling == 100.0


def test_what_the_metric_forgives_can_be_reached_off_the_borders():
    context = "It is (494 km) long."
    around = pieces(context, 2, 3, 5, 6, 14, 15)  # It/ /is/ /(494 km)/ /long.
    found = reach_of(context, around, ["494 km"], ["is (494"])
    assert (found.num_off_borders, found.num_unmatched) == (2, 1)


def test_any_gold_answer_and_any_place_of_it_will_do():
    context = "Hanam or Han"
    passage = pieces(context, 5, 6, 8, 9)
    assert reach_of(context, passage, ["Han"]).num_off_borders == 0  # the second place has borders
    assert reach_of(context, passage, ["Hana", "Hanam"]).num_unmatched == 0
    assert reach_of("THE han. ", pieces("THE han. ", 3, 4, 7, 8), ["Han"]).num_unmatched == 0  # in any case


def test_longer_spans_than_are_offered_are_not_reached():
    context = "a b c"
    passage = pieces(context, 1, 2, 3, 4)
    assert reach_of(context, passage, ["b c"], max_answer_tokens=2).num_unmatched == 1
    assert reach_of(context, passage, ["b c"], max_answer_tokens=3).num_unmatched == 0


def test_questions_without_an_answer_are_reached_where_the_model_may_abstain():
    context = "Han Seoul"
    passage = pieces(context, 3, 4)
    assert reach_of(context, passage, ["Han"], []).exact_ceiling == 100.0
    never = reach_of(context, passage, ["Han"], [], allow_null=False)
    assert (never.exact_ceiling, never.num_unanswerable) == (50.0, 1)
    assert reach_of(context, passage, []) is None


def test_a_passage_without_a_piece_reaches_nothing():
    nothing = dataclasses.replace(pieces("x"), ids=np.zeros(0), offsets=np.zeros((0, 2)), word_ids=np.zeros(0))
    assert reach_of("\x07", nothing, ["\x07"]).num_unmatched == 1


def test_the_ceiling_is_what_a_search_over_all_spans_finds(tokenizer, squad11):
    passages = tokenizer.encode_batch(list(squad11.contexts))
    found = measure_reach(
        squad11,
        passages,
        np.array([question.paragraph for question in squad11.questions]),
        SQUAD,
        max_answer_tokens=30,
        allow_null=True,
    )
    reached = 0
    for question in squad11.questions:
        offsets, context = passages[question.paragraph].offsets, squad11.context_of(question)
        texts = {
            SQUAD.normalize(context[offsets[first][0] : offsets[last][1]])
            for first in range(len(offsets))
            for last in range(first, min(first + 30, len(offsets)))
        }
        reached += any(SQUAD.normalize(answer.text) in texts for answer in question.answers)
    assert found.exact_ceiling == 100.0 * reached / len(squad11.questions)
