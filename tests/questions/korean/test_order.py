"""Parts change places and may be left out, but no subject and no object."""

import random

from spanwise.questions.korean.order import in_order

TEXT = "모네는 1883년에 봄에 파리에서 지베르니의 집을 샀다."


def orders(said, keep_topic):
    statement = said(TEXT)
    clause = statement.clause_of(type("End", (), {"end": 0})())[1]
    return {in_order(TEXT, clause.chunks, random.Random(key), keep_topic=keep_topic) for key in range(40)}


def test_orders_differ_and_hold_what_a_clause_needs(said):
    found = orders(said, keep_topic=True)
    assert len(found) > 8
    assert all("모네는" in order and "집을" in order for order in found)
    assert any("파리에서" not in order for order in found)


def test_a_topic_becomes_a_subject(said):
    assert all("모네가" in order and "모네는" not in order for order in orders(said, keep_topic=False))
