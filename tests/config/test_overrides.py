"""`path=value` changes values, checks them, and helps with wrong names."""

from dataclasses import field
from typing import Any, Literal, Protocol, runtime_checkable

import pytest

from spanwise import recipes
from spanwise.config import override, part
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.training.plan import TrainingOptions


@runtime_checkable
class Masking(Protocol):
    def select(self): ...


@part("runs")
class Runs:
    p: float = 0.2
    start: Literal["word", "token", "no"] = "word"

    def select(self): ...


@part("objective")
class Objective:
    weight: float = 1.0


@part("recipe")
class Recipe:
    name: str = "tiny"
    masking: Masking = field(default_factory=Runs)
    objectives: dict[str, Any] = field(default_factory=lambda: {"mlm": Objective(), "sbo": Objective()})
    training: TrainingOptions = field(default_factory=TrainingOptions)
    lengths: tuple[int, ...] = ()
    limits: dict[str, float] = field(default_factory=lambda: {"most": 1.0})
    encoder: EncoderConfig = field(
        default_factory=lambda: EncoderConfig(
            vocab_size=10, hidden_size=4, num_layers=1, num_heads=2, intermediate_size=8
        )
    )


RECIPE = Recipe()


@pytest.mark.parametrize(
    ("assignment", "read"),
    [
        ("masking.p=0.3", lambda r: r.masking.p == 0.3),
        ("objectives.sbo.weight=2", lambda r: r.objectives["sbo"].weight == 2.0 and r.objectives["mlm"].weight == 1.0),
        ("training.learning_rate=1e-3", lambda r: r.training.learning_rate == 1e-3),
        ("name=#1 String", lambda r: r.name == "#1 String"),
        ("name=Question #1", lambda r: r.name == "Question #1"),
        ("name=|", lambda r: r.name == "|"),
        ("name=-", lambda r: r.name == "-"),
        ("name='#' ", lambda r: r.name == "#"),
        ("training.max_steps=10", lambda r: r.training.max_steps == 10),
        ("training.max_steps=null", lambda r: r.training.max_steps is None),
        ("training.warmup_steps=100", lambda r: r.training.warmup_steps == 100),
        ("training.warmup_steps=0.1", lambda r: r.training.warmup_steps == 0.1),
        ("masking.start=no", lambda r: r.masking.start == "no"),
        ("name=12", lambda r: r.name == "12"),
        ("name=true", lambda r: r.name == "true"),
        ("lengths=[3, 4]", lambda r: r.lengths == (3, 4)),
        ("limits.most=2", lambda r: r.limits == {"most": 2}),
        ("encoder.num_layers=3", lambda r: r.encoder.num_layers == 3),
    ],
)
def test_a_value_is_changed_and_the_recipe_itself_is_not(assignment, read):
    before = repr(RECIPE)

    assert read(override(RECIPE, [assignment]))
    assert repr(RECIPE) == before


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("masking.q=1", r"masking\.q is unknown: masking has p, start\.$|Did you mean 'masking.p'"),
        ("p=1", r"Did you mean 'masking\.p'"),
        ("lr=3", r"Did you mean 'training\.learning_rate'"),
        ("training.num_train_epochs=3", r"Did you mean 'training\.num_epochs'"),
        ("training.warmup_ratio=0.06", r"'training\.warmup_steps'.*warmup_steps=0\.06"),
        ("training.learning_rat=1", r"Did you mean 'training\.learning_rate'"),
        ("masking=runs", r"masking is a part.*masking\.p"),
        ("objectives.sob.weight=1", r"objectives\.sob is unknown.*Did you mean 'objectives\.sbo"),
        ("training.max_steps=3.5", "3.5.*integer"),
        ("training.max_steps=true", "'true'.*integer"),
        ("training.max_steps=0", "at least 1"),
        ("training.learning_rate=.inf", "finite|number"),
        ("masking.start=wrd", "'word', 'token' or 'no'"),
        ("masking.p.x=2", "single value"),
        ("masking.p={a: 1}", "one by one"),
        ("limits.most=x", "like 1.0"),
        ("encoder.hidden_size=3", "does not divide"),
        ("encoder.num_layers=x", r"encoder\.num_layers.*integer"),
        ("name", "path=value"),
        ("=3", "path=value"),
    ],
)
def test_wrong_assignments_are_refused_with_the_cure(assignment, said):
    with pytest.raises(ConfigError, match=said):
        override(RECIPE, [assignment])


def test_values_that_are_only_right_together_are_set_together_in_any_order():
    recipe = recipes.spanbert_tiny()
    pairs = ["masking.lengths=poisson", "masking.mean_words=3", "encoder.num_heads=3", "encoder.hidden_size=96"]
    shares = ["replacement.mask=0.7", "replacement.random=0.2"]
    for order in (1, -1):
        changed = override(recipe, [*pairs, *shares][::order])
        assert (changed.masking.lengths, changed.masking.mean_words) == ("poisson", 3.0)
        assert (changed.encoder.hidden_size, changed.encoder.num_heads) == (96, 3)
        assert (changed.replacement.mask, changed.replacement.random) == (0.7, 0.2)
    with pytest.raises(ConfigError, match=r"needs masking\.mean_words"):
        override(recipe, ["masking.lengths=poisson"])


def test_of_two_values_for_one_path_the_later_one_holds():
    assert override(RECIPE, ["masking.p=0.3", "masking.p=0.4", "name=12"]).masking.p == 0.4


@pytest.mark.parametrize("assignments", [["masking.p=0.3", "masking.p.x=2"], ["masking.p=0.3", "masking=runs"]])
def test_a_part_and_its_own_values_are_not_set_at_once(assignments):
    for order in (1, -1):
        with pytest.raises(ConfigError, match=r"masking"):
            override(RECIPE, assignments[::order])


def test_two_lengths_of_a_run_contradict_each_other():
    with pytest.raises(ConfigError, match="max_steps, budget"):
        override(RECIPE, ["training.max_steps=10", "training.budget=60"])
