"""What an objective misses is named with the part that does not give it, before any file is opened."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, NoMasking, Replacement
from spanwise.pretraining.needs import check_encoder_needs, check_needs, hides_tokens
from spanwise.pretraining.objectives import CausalLM, MaskedLM, SpanBoundary


@dataclass(frozen=True)
class NeedsADate:
    needs: ClassVar[frozenset[str]] = frozenset({"date"})


class DatedFormat:
    gives: ClassVar[frozenset[str]] = frozenset({"date"})


def test_a_format_of_ones_own_may_give_a_word_of_ones_own():
    check_needs(DatedFormat(), {"dates": NeedsADate()})
    with pytest.raises(ConfigError, match="'dates' asks for 'date'; format SingleSegment gives none"):
        check_needs(SingleSegment(), {"dates": NeedsADate()})


def test_no_objective_is_refused():
    with pytest.raises(ConfigError, match="at least one objective"):
        check_needs(SingleSegment(), {})


@pytest.mark.parametrize("objective", [MaskedLM(), SpanBoundary()])
def test_objectives_on_hidden_tokens_are_refused_where_none_is_hidden(objective):
    check_needs(SingleSegment(), {objective.name: objective}, GeometricSpans())
    with pytest.raises(ConfigError, match=f"'{objective.name}'.*NoMasking hides none"):
        check_needs(SingleSegment(), {objective.name: objective}, NoMasking())


def test_causal_lm_is_refused_where_tokens_are_hidden():
    check_needs(SingleSegment(), {"clm": CausalLM()}, NoMasking())
    with pytest.raises(ConfigError, match=r"'clm'.*GeometricSpans hides some.*NoReplacement"):
        check_needs(SingleSegment(), {"clm": CausalLM()}, GeometricSpans())


def test_each_objective_is_refused_on_an_encoder_of_the_wrong_direction():
    both_sides = SimpleNamespace(causal=False, pooler=False)
    left_alone = SimpleNamespace(causal=True, pooler=False)

    check_encoder_needs(both_sides, {"mlm": MaskedLM(), "sbo": SpanBoundary()})
    check_encoder_needs(left_alone, {"clm": CausalLM()})
    with pytest.raises(ConfigError, match=r"'mlm'.*encoder\.causal=true"):
        check_encoder_needs(left_alone, {"mlm": MaskedLM()})
    with pytest.raises(ConfigError, match=r"'sbo'.*encoder\.causal=true"):
        check_encoder_needs(left_alone, {"sbo": SpanBoundary()})
    with pytest.raises(ConfigError, match=r"'clm'.*encoder\.causal=false"):
        check_encoder_needs(both_sides, {"clm": CausalLM()})


def test_a_masking_of_ones_own_hides_tokens_unless_it_says_otherwise():
    assert hides_tokens(object()) and hides_tokens(GeometricSpans()) and not hides_tokens(NoMasking())


def test_a_replacement_of_ones_own_may_need_any_word():
    class Picky(Replacement):
        needs = frozenset({"nouns"})

    objectives = {"mlm": MaskedLM()}
    with pytest.raises(ConfigError, match="replacement Picky asks for 'nouns' and masking GeometricSpans gives none"):
        check_needs(SingleSegment(), objectives, GeometricSpans(), replacement=Picky())
