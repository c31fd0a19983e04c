"""Joined packs are what one pack of all sequences would have been."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from toy_packs import with_parts

from spanwise.pretraining.collate import Collator
from spanwise.pretraining.formats import SentencePair
from spanwise.pretraining.masking import GeometricSpans, Replacement
from spanwise.pretraining.mixtures.join import join_masked
from spanwise.pretraining.objectives import MaskedLM, NextSentence

ROWS = np.array([7, 3, 12, 30, 1])


def test_parts_end_to_end_are_the_whole(store):
    collator = with_parts(
        Collator,
        store,
        format=SentencePair(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
        seed=3,
    )
    table = collator.format.blocks(store, 3, 0)
    whole = collator.masked(table, ROWS, 0)

    joined = join_masked([collator.masked(table, rows, 0) for rows in (ROWS[:2], ROWS[2:3], ROWS[3:])])

    np.testing.assert_array_equal(joined.input_ids, whole.input_ids)
    for name in ("pack", "spans", "hidden"):
        for field in fields(getattr(whole, name)):
            np.testing.assert_array_equal(
                getattr(getattr(joined, name), field.name),
                getattr(getattr(whole, name), field.name),
                err_msg=field.name,
            )
    targets = collator.objectives["mlm"].targets(joined.pack, joined.spans, joined.hidden)
    assert targets.count == len(whole.hidden.position)


def test_side_arrays_are_joined_too(store):
    collator = with_parts(
        Collator,
        store,
        format=SentencePair(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM()},
        seed=3,
    )
    table = collator.format.blocks(store, 3, 0)
    parts = [collator.masked(table, rows, 0) for rows in (ROWS[:2], ROWS[2:])]
    tagged = [
        replace(part, pack=replace(part.pack, side={"tags": np.full(len(part.input_ids), number, dtype=np.uint8)}))
        for number, part in enumerate(parts, 1)
    ]

    tags = join_masked(tagged).pack.side["tags"]

    assert tags.tolist() == [1] * len(parts[0].input_ids) + [2] * len(parts[1].input_ids)
    assert join_masked(parts[:1]) is parts[0]
