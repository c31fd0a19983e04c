"""What cannot work as an objective is refused with a sentence, before a file is read."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from spanwise import recipes
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import QuestionTokens, RecurringGroups, RecurringSpans, Replacement, TwoMaskings
from spanwise.pretraining.system import check


@dataclass(frozen=True)
class Places:
    places: torch.Tensor

    @property
    def count(self):
        return len(self.places)


class Head(nn.Linear):
    def forward(self, hidden, targets):
        return super().forward(hidden[targets.places]).sum()


@dataclass(frozen=True, kw_only=True)
class Mine:
    name = "mine"
    needs = frozenset({"spans"})
    weight: float = 1.0

    def targets(self, pack, spans, hidden):
        return Places(torch.from_numpy(hidden.position))

    def build(self, encoder):
        return Head(encoder.config.hidden_size, 3)


def checked(objective, name="mine"):
    recipe = recipes.spanbert_tiny()
    check(replace(recipe, objectives={**recipe.objectives, name: objective}))


def changed(**members):
    return type("Changed", (Mine,), members)()


def without(*names):
    members = {name: value for name, value in vars(Mine).items() if name not in (*names, "__dict__", "__weakref__")}
    return type("Lacking", (), {k: v for k, v in members.items() if not k.startswith("__")})()


def test_one_that_works_is_let_through():
    checked(Mine())


@pytest.mark.parametrize("others", [None, Replacement()])
def test_one_on_questions_is_tried_with_questions(others):
    seen = []

    def targets(self, pack, spans, hidden):
        asked = pack.questions
        seen.append((len(spans.start), len(hidden.position)))
        assert not pack.maskable[asked.start].any() and (asked.end == asked.start + 1).all()
        assert pack.maskable[asked.kept[asked.group][:, 0]].all()
        return Places(torch.from_numpy(asked.start))

    mine = changed(needs=frozenset({"questions"}), targets=targets)
    masking = RecurringGroups() if others is None else RecurringSpans()
    recipe = replace(recipes.splinter_mini(), masking=masking, replacement=QuestionTokens(others=others))
    check(replace(recipe, objectives={"mine": mine}))
    assert seen == ([(0, 0)] if others is None else [(3, 6)])  # what becomes a question can't be guessed


def test_a_head_that_says_it_reads_no_corruption_is_given_none():
    head = type("Plain", (Head,), {"reads_corrupted": False})
    checked(changed(build=lambda self, encoder: head(encoder.config.hidden_size, 3)))


@pytest.mark.parametrize("member", ["ratio", "select"])
def test_a_masking_that_lacks_a_member_is_refused(member):
    masking = type("Lacking", (), {name: None for name in ("ratio", "select") if name != member})()
    with pytest.raises(ConfigError, match=f"masking is Lacking, which has no {member}; a masking has ratio, select,"):
        replace(recipes.spanbert_tiny(), masking=masking)
    with pytest.raises(ConfigError, match=f"which is no masking: it has no {member}; a masking has ratio, select,"):
        TwoMaskings(then=masking)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (without("name"), "objectives.mine is Lacking, which has no name; give the class `name = 'mine'`"),
        (without("weight"), "which has no weight; give the class weight: float = 1.0"),
        (without("needs"), "which has no needs; give the class needs = frozenset"),
        (without("targets"), "which has no targets; give the class targets"),
        (without("build"), "which has no build; give the class build"),
        (changed(name="other"), "holds Changed, whose name is 'other'; use that name"),
        (Mine(weight=-1.0), "objectives.mine.weight cannot be -1.0; expected a number of 0 or more"),
        (changed(needs="spans"), "has needs 'spans'; expected"),
        (changed(needs=frozenset({"poems"})), "asks for 'poems'; format SingleSegment gives none"),
        (changed(targets=lambda *args: [1]), "returned list; expected a frozen dataclass of tensors"),
        (changed(targets=lambda *args: Place(torch.zeros(1))), "have the count None; expected how many"),
        (changed(build=lambda self, encoder: print), "returned builtin_function_or_method; expected a torch.nn.Module"),
        (changed(build=lambda self, encoder: nn.BatchNorm1d(4)), "keeps running_mean, .* model folders don't hold"),
        (changed(build=lambda self, encoder: nn.LazyLinear(5)), "has parameters without a shape"),
        (changed(build=lambda self, encoder: Head(5, 3)), "failed on a made-up pack of 2 sequences .* RuntimeError"),
        (changed(build=lambda self, encoder: Rows(128, 3)), r"returned a tensor of shape \[6\]; expected a scalar"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_one_that_can_not_work_is_refused_before_a_file_is_read(objective, message):
    with pytest.raises(ConfigError, match=message):
        checked(objective)


@dataclass(frozen=True)
class Place:
    place: torch.Tensor


class Rows(nn.Linear):
    def forward(self, hidden, targets):
        return super().forward(hidden[targets.places]).sum(1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sop", "the head 'sop' has the tensors bias, weight, but 'sop' is the name of the sentence order head"),
        ("qa", "the head 'qa' has the tensors bias, weight, .* linear.bias, linear.weight"),
        ("keys", "an objective can't be called 'keys', which torch.nn.ModuleDict keeps"),
        ("classifier", "a head can't be called 'classifier'"),
        ("my.head", "a head can't be called 'my.head' in files"),
    ],
)
def test_names_that_are_taken_are_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        checked(changed(name=name), name)


@pytest.mark.parametrize("field", ["format", "masking", "replacement", "corruption"])
def test_what_is_no_part_is_refused_by_what_it_lacks(field):
    with pytest.raises(
        ConfigError, match=rf"{field} is object, which has no .*; a {field} has .* as examples/my_parts.py"
    ):
        replace(recipes.spanbert_tiny(), **{field: object()})
