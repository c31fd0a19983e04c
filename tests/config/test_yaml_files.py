"""A recipe as an editable file: commented, complete, and read back to the same recipe."""

from dataclasses import field

import pytest

from spanwise.config import commented_yaml, override, overrides_from_yaml, part
from spanwise.errors import ConfigError
from spanwise.training.plan import TrainingOptions


@part("runs")
class Runs:
    """Hide runs of words."""

    p: float = 0.2  # chance that a span ends after each word
    on: bool = True
    text: str = "a: b # c"


@part("recipe")
class Recipe:
    """One recipe.

    More about it.
    """

    masking: Runs = field(default_factory=Runs)  # what is hidden
    training: TrainingOptions = field(default_factory=TrainingOptions)
    groups: dict[str, Runs] = field(default_factory=lambda: {"one": Runs()})
    nothing: dict[str, Runs] = field(default_factory=dict)


def test_every_value_stands_in_the_file_with_its_comment():
    text = commented_yaml(Recipe())

    assert text.startswith("# One recipe.\n")
    assert "  p: 0.2  # chance that a span ends after each word" in text
    assert "what is hidden" in text
    assert "  learning_rate: 0.0001  # the highest, after warm-up" in text
    assert "Values of the training loop" in text


def test_the_file_read_back_gives_the_same_recipe():
    recipe = override(Recipe(), ["masking.p=0.7", "training.max_steps=12", "groups.one.text=true"])

    assert override(Recipe(), overrides_from_yaml(commented_yaml(recipe))) == recipe


def test_an_edited_value_becomes_an_assignment():
    assert overrides_from_yaml("masking:\n  p: 0.3\n  on: false\ntraining:\n  learning_rate: 1e-3\n") == [
        "masking.p=0.3",
        "masking.on=false",
        "training.learning_rate=0.001",
    ]
    assert overrides_from_yaml("# nothing but a comment\n") == []


@pytest.mark.parametrize("text", ["- a\n- b", "just words", "a: .nan", "\n".join("  " * i + "a:" for i in range(40))])
def test_files_that_are_not_names_with_values_are_refused(text):
    with pytest.raises(ConfigError):
        overrides = overrides_from_yaml(text)
        override(Recipe(), overrides)
