"""A part is frozen, checked and explains what is wrong with it."""

from dataclasses import FrozenInstanceError, dataclass
from typing import Any, Literal

import pytest

from spanwise.config import part
from spanwise.config.parts import is_ours, make_part
from spanwise.config.ranges import Rate
from spanwise.errors import ConfigError


@part("runs_of_words")
class RunsOfWords:
    p: float = 0.2
    max_words: int = 10
    start: Literal["word", "token"] = "word"

    def __post_init__(self):
        if not 0 < self.p < 1:
            raise ConfigError(f"p must lie between 0 and 1, got {self.p}.")


@part("either")
class Either:
    rate: Rate | Literal["auto"] = "auto"


@part("holder")
class Holder:
    masking: RunsOfWords
    borders: tuple[int, int] = (1, 2)
    weights: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class PlainOne:
    size: int
    held: Any = None


def test_a_part_knows_its_name_and_cannot_be_changed():
    made = RunsOfWords(p=0.3)

    assert RunsOfWords.part_name == "runs_of_words"
    assert made == RunsOfWords(p=0.3) != RunsOfWords()
    with pytest.raises((FrozenInstanceError, ConfigError, AttributeError)):
        made.p = 0.5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"q": 1}, ["RunsOfWords.q is unknown", "p, max_words, start"]),
        ({"max_word": 1}, ["Did you mean 'max_words'?"]),
        ({"p": "many"}, ["RunsOfWords.p", "'many'", "number"]),
        ({"start": "wrd"}, ["'wrd'", "'word' or 'token'"]),
        ({"max_words": 2.5}, ["2.5", "integer"]),
        ({"p": float("nan")}, ["finite"]),
        ({"p": 3}, ["between 0 and 1, got 3"]),
    ],
)
def test_an_error_says_what_came_and_what_was_expected(values, said):
    with pytest.raises(ConfigError) as error:
        RunsOfWords(**values)
    for words in said:
        assert words in str(error.value)


def test_a_number_of_a_field_that_takes_a_word_too_is_named_by_the_field_alone():
    with pytest.raises(ConfigError) as error:
        Either(rate=float("inf"))
    assert (
        str(error.value)
        == "Either.rate cannot be inf; expected a finite number.\nEither.rate cannot be inf; expected 'auto'."
    )


def test_values_without_a_name_are_refused():
    with pytest.raises(ConfigError, match="named values only"):
        RunsOfWords(0.2)


def test_errors_inside_parts_name_the_whole_path():
    with pytest.raises(ConfigError, match=r"training\.masking cannot be 3"):
        make_part(Holder, {"masking": 3}, "training")
    with pytest.raises(ConfigError, match=r"masking is missing"):
        Holder()


def test_lists_become_tuples_where_the_field_is_one():
    assert Holder(masking=RunsOfWords(), borders=[3, 4]).borders == (3, 4)


def test_plain_dataclasses_are_checked_against_their_annotations():
    assert make_part(PlainOne, {"size": 3}) == PlainOne(size=3)
    with pytest.raises(ConfigError, match=r"encoder\.size"):
        make_part(PlainOne, {"size": "x"}, "encoder")
    with pytest.raises(ConfigError, match=r"encoder\.sizes is unknown.*Did you mean 'size'"):
        make_part(PlainOne, {"sizes": 1}, "encoder")
    with pytest.raises(ConfigError, match="size"):
        make_part(PlainOne, {})


def test_classes_of_this_package_and_their_values_are_ours():
    assert is_ours(ConfigError) and is_ours(ConfigError("x"))
    assert not is_ours(Holder) and not is_ours(3)
    assert not is_ours(type("Near", (), {"__module__": "spanwise_more"}))
