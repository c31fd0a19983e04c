"""The report says what was won and lost, and claims no win where there is none."""

import math
from dataclasses import replace

import pytest

from spanwise.adapt.proof import Proof
from spanwise.adapt.record import AdaptationRecord, Check, Figure, Measurement
from spanwise.adapt.report import card_facts, counted_in, sentences
from spanwise.adapt.texts import TextFacts


def figure(loss):
    return Figure(loss=loss, standard_error=0.05, objectives={"mlm": loss / 2, "sbo": loss / 2}, num_clusters=12)


def check(step, own, rise, *, kept, within=True):
    gain = 4.0 - own
    return Check(
        step=step,
        own=own,
        general=3.0 * (1 + rise),
        gain=gain,
        low=gain - 0.05,
        high=gain + 0.05,
        general_rise=rise,
        is_within_bound=within,
        is_kept=kept,
    )


FACTS = TextFacts(num_documents=120, num_characters=90_000, by_parts=False, num_tokens=20_000, held_out_documents=12)
CHECKS = [
    check(10, 3.9, 0.01, kept=True),
    check(20, 3.7, 0.015, kept=True),
    check(30, 3.6, 0.04, kept=False, within=False),
]


@pytest.fixture
def record():
    before = Measurement(own=figure(4.0), general=figure(3.0))
    return AdaptationRecord(
        outcome="adapted",
        start="spanwise-mini",
        texts=["my-text"],
        general_text="bundled English Wikipedia",
        objective="spans",
        fresh_heads=[],
        unit="token",
        before=before,
        after=Measurement(own=figure(3.7), general=figure(3.045)),
        checks=CHECKS,
        kept_step=20,
        num_steps=30,
        num_tokens=9_000,
        seconds=5.0,
        heads_seconds=0.0,
        learning_rate=3e-4,
        replay_share=0.2,
        general_bound=0.02,
        new_pieces=[],
        seed=0,
        own_text=FACTS,
        general_facts=FACTS,
        final="out/final",
    )


def test_weights_part_of_the_way_are_called_so_in_the_report_and_on_the_card(record):
    part = replace(CHECKS[2], share=0.635, is_within_bound=True, is_kept=True)
    told = "\n".join(sentences(replace(record, checks=[*CHECKS, part], kept_step=30)))
    assert "Kept: the weights of step 30 of 30, 64% of the way from the start to them." in told
    assert "so those weights were not taken as they were; a part of the way to them was measured." in told
    failed = replace(part, step=31, is_within_bound=False, is_kept=False)
    told = "\n".join(sentences(replace(record, checks=[*CHECKS, failed], kept_step=20)))
    assert "At step 30 of 30" in told and "Kept: the weights of step 20 of 30." in told
    (first, _) = card_facts("spanwise-mini", ["my-text"], {"own": 4.0, "general": 3.0}, "hidden token", part)
    assert first.endswith("by `spanwise adapt`, 64% of the way from the start to what was learned.")


def test_labels_by_which_both_score_the_same_are_told_so(record):
    same = Proof(
        task="qa", score="f1", start=[100.0] * 2, adapted=[100.0] * 2, gain=0.0, low=0.0, high=0.0
    )  # fmt: skip
    told = "\n".join(sentences(replace(record, proof=same)))
    assert "Both score the same with every seed: the start is kept" in told


def test_where_labels_put_the_start_back_the_figures_of_what_they_refused_are_those_of_its_check(record):
    lost = Proof(task="qa", score="f1", start=[2.0] * 2, adapted=[1.0] * 2, gain=-1.0, low=-1.0, high=-1.0)
    refuted = replace(record, outcome="unchanged", after=record.before, kept_step=0, proof=lost)
    told = "\n".join(sentences(refuted))
    assert "fell from 4.000 to 3.700 nats per hidden token: 0.300 lower" in told
    assert "rose by 1.5%, from 3.000 to 3.045 nats per hidden token; up" in told
    assert "Best by this loss: the weights of step 20 of 30." in told


def test_only_parts_in_place_of_what_was_beyond_the_bound_are_counted_there(record):
    within = replace(CHECKS[0], share=0.75, is_kept=False)
    beyond = replace(CHECKS[2], share=0.6, is_within_bound=True, is_kept=True)
    told = "\n".join(sentences(replace(record, checks=[CHECKS[0], within, *CHECKS[1:], beyond], kept_step=30)))
    assert "as they were; a part of the way to them was measured." in told


def test_held_out_text_of_one_document_gives_no_error_and_the_report_says_what_to_do(record):
    own = replace(figure(4.0), standard_error=math.nan)
    alone = Measurement(own=own, general=figure(3.0))
    checks = [replace(check(10, 3.9, 0.01, kept=False), low=math.nan, high=math.nan)]
    told = "\n".join(sentences(replace(record, before=alone, after=alone, checks=checks, kept_step=None)))
    assert "nan" not in told and "its loss is 4.000 nats per hidden token" in told
    assert "no error to judge the change of +0.100 by. Give more text." in told


def test_a_win_is_told_with_its_interval_and_what_it_cost(record):
    told = "\n".join(sentences(record))
    assert "fell from 4.000 to 3.700 ± 0.050 nats per hidden token" in told
    assert "0.300 lower (95 %: 0.250 to 0.350" in told
    assert "rose by 1.5%, from 3.000 to 3.045" in told and "up to 2.0% more was allowed" in told
    assert "At step 30 of 30 the general loss had risen beyond that bound (by 4.0%)" in told
    assert "Kept: the weights of step 20 of 30." in told and "no win" not in told
    assert "bundled English Wikipedia (20% of what is read)" in told and "12 documents of yours" in told


def test_a_start_that_was_kept_is_no_win(record):
    lost = [check(10, 3.99, 0.001, kept=False), check(20, 3.2, 0.03, kept=False, within=False)]
    unchanged = replace(record, outcome="unchanged", checks=lost, kept_step=0, after=record.before)
    told = "\n".join(sentences(unchanged))
    assert "kept unchanged, which is no win" in told and "(the best within it: +0.010" in told
    assert "fell from" not in told and "Kept: the weights" not in told


def test_what_a_reader_must_know_is_told(record):
    parts = replace(FACTS, by_parts=True, num_documents=3)
    changed = replace(
        record, own_text=parts, fresh_heads=["mlm"], new_pieces=["chromatography"], unit="character", notes=["A note."]
    )
    told = "\n".join(sentences(changed))
    assert "only 3 documents" in told and "no head for masked tokens" in told and "with the encoder still" in told
    assert "made for something else" not in told
    without = replace(record, objective="mlm", fresh_heads=["mlm"], is_unjudged=True)
    assert "made for something else" in "\n".join(sentences(without))
    assert "made for something else" not in "\n".join(sentences(replace(without, checks=[])))  # it is the start
    assert "1 words became pieces (chromatography)" in told and "per hidden character" in told and "A note." in told


def test_losses_are_told_by_what_they_are_counted_in(record):
    assert counted_in("selection", "token") == "question" and counted_in("mlm", "character") == "hidden character"
    told = "\n".join(sentences(replace(record, objective="both")))
    assert "nats per hidden token and question; masked tokens 1.850, span boundary 1.850: 0.300 lower" in told
    assert "leaves nothing to measure of span selection." in told
    assert "nothing to measure" not in "\n".join(sentences(record))


def test_the_card_says_from_what_on_what_and_how_much():
    before = {"own": 4.0, "general": 3.0}
    told = " ".join(card_facts("START", ["my-text"], before, "hidden token", CHECKS[1]))
    assert "Adapted from START on my-text" in told and "4.000 before, 3.700 after (0.300 lower" in told
    assert "kept unchanged" in card_facts("START", ["a", "b", "c", "d"], before, "hidden token", None)[0]
