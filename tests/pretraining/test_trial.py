"""A masking and a corruption of a user's own that cannot work are refused before a file is read."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from torch import nn

from spanwise import recipes
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    QuestionTokens,
    RecurringSpans,
    Replacement,
    TwoMaskings,
)
from spanwise.pretraining.objectives import MaskedLM, ReplacedToken, SpanSelection
from spanwise.pretraining.objectives.base import Corrupted
from spanwise.pretraining.packs import Spans
from spanwise.pretraining.system import check
from spanwise.pretraining.trial import maskings_in, try_corruption


@dataclass(frozen=True)
class SecondToken:
    ratio: float = 0.15

    def select(self, pack, keys, *, capacity=None):
        first = pack.borders[:-1] + 1
        return Spans(sequence=np.arange(len(first)), start=first, end=first + 1)


def masking(select):
    return type("Mine", (SecondToken,), {"select": select})()


def test_a_masking_that_works_is_let_through():
    check(replace(recipes.spanbert_tiny(), masking=SecondToken()))


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (lambda self, pack, keys: None, "masking Mine failed on a made-up pack .* TypeError: .*capacity"),
        (lambda self, pack, keys, capacity=None: [(1, 2)], "masking Mine returned list; expected spanwise"),
        (lambda self, pack, keys, capacity=None: 1 / 0, "masking Mine failed on a made-up pack .* ZeroDivisionError"),
    ],
)
def test_a_masking_that_can_not_work_is_refused(select, message):
    with pytest.raises(ConfigError, match=message):
        check(replace(recipes.spanbert_tiny(), masking=masking(select)))


@pytest.mark.parametrize(
    "around",
    [
        lambda bad: TwoMaskings(first=bad),
        lambda bad: TwoMaskings(then=bad),
        lambda bad: MaskingMixture(schemes={"usual": GeometricSpans(), "mine": bad}),
        lambda bad: MaskingMixture(
            schemes={"usual": GeometricSpans(), "both": TwoMaskings(first=SecondToken(), then=bad)}
        ),
    ],
    ids=["first", "then", "mixture", "both"],
)
def test_a_masking_that_can_not_work_is_refused_inside_another(around):
    bad = masking(lambda self, pack, keys, capacity=None: 1 / 0)
    recipe = replace(recipes.spanbert_tiny(), replacement=Replacement())
    check(replace(recipe, masking=around(SecondToken())))
    with pytest.raises(ConfigError, match=r"masking Mine failed on a made-up pack .* ZeroDivisionError"):
        check(replace(recipe, masking=around(bad)))


def test_what_a_masking_of_ones_own_is_made_of_is_not_tried():
    @dataclass(frozen=True)
    class Choosing(SecondToken):
        inner: object = None

    inner = masking(lambda self: None)
    assert list(maskings_in(Choosing(inner=inner))) == [Choosing(inner=inner)]


def test_a_part_that_no_record_can_hold_is_refused():
    class Plain:
        ratio, select = 0.15, SecondToken.select

    with pytest.raises(ConfigError, match=r"masking is .*Plain.*, which a recipe cannot record"):
        check(replace(recipes.spanbert_tiny(), masking=Plain()))


class Learning:
    gives, samples, objectives = frozenset({"replacements"}), True, {}

    def check(self, encoder):
        """Every encoder will do."""

    def build(self, encoder):
        return nn.Linear(3, 3)


def test_a_corruption_that_learns_what_no_folder_holds_is_refused():
    with pytest.raises(
        ConfigError, match="corruption Learning learns weights of its own, which model folders don't hold"
    ):
        check(replace(recipes.spanbert_tiny(), corruption=Learning()))


class Same(nn.Module):
    def __init__(self, ids):
        super().__init__()
        self.ids = ids

    def forward(self, batch):
        return self.ids(batch)


def scattered(batch):
    """Writes what is dead at the first place."""
    hidden = batch.targets["mlm"]
    return Corrupted(input_ids=batch.input_ids, original_ids=batch.input_ids.scatter(0, hidden.positions, hidden.ids))


def corruption(ids):
    return type("Mine", (Learning,), {"build": lambda self, encoder: Same(ids) if callable(ids) else ids})()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (3, "corruption Mine: build returned int; expected a torch.nn.Module"),
        (lambda batch: batch.input_ids, "the module of corruption Mine returned Tensor; expected .*Corrupted"),
        (
            lambda batch: Corrupted(input_ids=batch.input_ids[:3]),
            r"gave input_ids of torch.int64 \[3\]; expected int64",
        ),
        (scattered, "wrote a dead hidden token, .* to the first place of original_ids; write by"),
        (
            lambda batch: Corrupted(input_ids=batch.input_ids, original_ids=[1]),
            r"gave original_ids of list; expected int64 \[32\]",
        ),
        (lambda batch: batch.targets["no"], "corruption Mine failed on a made-up batch .* KeyError"),
    ],
)
def test_a_corruption_that_can_not_work_is_refused(ids, message):
    both = {"mlm": MaskedLM(), "rtd": ReplacedToken()}
    shown = Replacement(mask=1.0, random=0.0, keep=0.0)
    recipe = replace(recipes.spanbert_tiny(), objectives=both, replacement=shown)
    with pytest.raises(ConfigError, match=message):
        check(replace(recipe, corruption=corruption(ids)))


def test_a_corruption_beside_questions_is_tried_with_them():
    def kept(batch):
        return Corrupted(input_ids=batch.input_ids, original_ids=batch.input_ids)

    objectives = {"mlm": MaskedLM(), "span_selection": SpanSelection()}
    recipe = replace(
        recipes.splinter_mini(),
        objectives=objectives,
        masking=RecurringSpans(),
        replacement=QuestionTokens(others=Replacement()),
    )
    try_corruption(replace(recipe, corruption=corruption(kept)))
