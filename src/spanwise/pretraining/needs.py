"""What objectives ask of the other parts of a recipe, and who gives it: combinations that cannot work are refused.

A format, a masking, a corruption and an encoder each give some words; an objective needs some. Words beyond
those below can be given by a format of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import FORMATS

HIDES = frozenset({"spans"})
"""What a masking gives that says nothing else."""

MASKING_WORDS = {
    "spans": "asks for hidden tokens ('spans'); masking {part} hides none. Choose a masking that does, such as "
    "GeometricSpans(), with a Replacement().",
    "whole_text": "reads the text as it is ('whole_text'); masking {part} hides some of it. Use masking=NoMasking() "
    "with replacement=NoReplacement().",
}
ENCODER_WORDS = {
    "bidirectional": "reads both sides of a token; with encoder.causal=true a token sees what stands before it alone. "
    "Set encoder.causal=false, or train with CausalLM() instead.",
    "causal": "guesses the next token; with encoder.causal=false every token would see the one it must guess. Set "
    "encoder.causal=true.",
    "pooler": "reads the pooled vector of [CLS]; encoder.pooler=false makes none. Set encoder.pooler=true.",
}


CORRUPTION_WORDS = {
    "replacements": "asks which tokens were replaced by likely ones ('replacements'); corruption {part} replaces none. "
    "Use corruption=Generator().",
}
OTHER_WORDS = MASKING_WORDS.keys() | ENCODER_WORDS.keys() | CORRUPTION_WORDS.keys()
"""What a format is not asked for."""


class Needy(Protocol):
    """The part of an objective that is looked at here."""

    @property
    def needs(self) -> frozenset[str]: ...


class EncoderValues(Protocol):
    """The values of an encoder that decide what it gives."""

    @property
    def causal(self) -> bool: ...

    @property
    def pooler(self) -> bool: ...


def hides_tokens(masking: Any) -> bool:
    """Whether a masking chooses any token at all; a masking of your own does unless its `gives` says otherwise."""
    return "spans" in _given_by_masking(masking)


def check_needs(format: Any, objectives: Mapping[str, Needy], masking: Any = None, corruption: Any = None) -> None:
    """Refuse objectives that the format, or masking and corruption where they are given, leave without what they need.

    Raises: ConfigError naming the objective and the part. Opens no file.
    """
    if not objectives:
        raise ConfigError("a recipe needs at least one objective, for example objectives={'mlm': MaskedLM()}.")
    for name, objective in objectives.items():
        missing = objective.needs - format.gives - OTHER_WORDS
        if missing:
            word = min(missing)
            givers = " or ".join(cls.__name__ for cls in FORMATS if word in cls.gives)
            raise ConfigError(
                f"objective '{name}' asks for '{word}'; format {type(format).__name__} gives none."
                + (f" Try {givers}." if givers else "")
            )
        if masking is not None:
            lacking = objective.needs & MASKING_WORDS.keys() - _given_by_masking(masking)
            _refuse(name, lacking, MASKING_WORDS, type(masking).__name__)
        if corruption is not None:
            lacking = objective.needs & CORRUPTION_WORDS.keys() - corruption.gives
            _refuse(name, lacking, CORRUPTION_WORDS, type(corruption).__name__)


def check_encoder_needs(encoder: EncoderValues, objectives: Mapping[str, Needy]) -> None:
    """Refuse objectives that this encoder cannot serve. Raises: ConfigError naming both."""
    given = {"causal" if encoder.causal else "bidirectional"} | ({"pooler"} if encoder.pooler else set())
    for name, objective in objectives.items():
        _refuse(name, objective.needs & ENCODER_WORDS.keys() - given, ENCODER_WORDS, "")


def _given_by_masking(masking: Any) -> frozenset[str]:
    return getattr(masking, "gives", HIDES)


def _refuse(name: str, lacking: frozenset[str] | set[str], words: Mapping[str, str], part: str) -> None:
    for word in sorted(lacking):
        raise ConfigError(f"objective '{name}' {words[word].format(part=part)}")
