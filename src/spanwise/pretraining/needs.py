"""The needs of objectives, and the parts of a recipe that meet them: combinations that cannot work are refused.

A format, a masking, a corruption and an encoder each give some words; an objective needs some. Words beyond
those below can be given by a format of your own.
"""

from collections.abc import Mapping, Set
from typing import Protocol

from spanwise.errors import ConfigError
from spanwise.pretraining.corruption.base import Corruption
from spanwise.pretraining.formats import FORMATS, InputFormat
from spanwise.pretraining.masking.base import MaskingScheme, ReplacementScheme, ShorteningReplacement, given_by, left_by

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
    "Use corruption=Generator()."
}
REPLACEMENT_WORDS = {
    "spans": "guesses hidden tokens at their places ('spans'); replacement {part} leaves one token of a span, so none "
    "is there to be guessed. Set replacement.others to Replacement() with a masking that hides spans without a group "
    "too, such as RecurringSpans(), or use Replacement().",
    "questions": "asks for questions; replacement {part} writes none. Use replacement=QuestionTokens() with a masking "
    "that gives groups, such as RecurringGroups().",
}
ASKED_OF_MASKING = {
    "groups": "replaces spans that belong together ('groups'); masking {part} gives none. Use RecurringGroups().",
    "lone_spans": "has a replacement for spans without a group ('others'); masking {part} gives groups alone. Leave "
    "replacement.others out, or use RecurringSpans().",
}
"""What a replacement may ask of a masking, beside words of a user's own."""

OTHER_WORDS = MASKING_WORDS.keys() | ENCODER_WORDS.keys() | CORRUPTION_WORDS.keys() | REPLACEMENT_WORDS.keys()
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


def hides_tokens(masking: MaskingScheme) -> bool:
    """Return whether a masking chooses any token at all."""
    return "spans" in given_by(masking)


def check_needs(
    format: InputFormat,
    objectives: Mapping[str, Needy],
    masking: MaskingScheme | None = None,
    corruption: Corruption | None = None,
    replacement: ReplacementScheme | None = None,
) -> None:
    """Refuse objectives that the format, or one of the other parts that are given, leaves without what they need.

    Raises: ConfigError naming the objective, or the replacement, and the part. Opens no file.
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
            _refuse(name, objective, MASKING_WORDS, given_by(masking), type(masking).__name__)
        if corruption is not None:
            _refuse(name, objective, CORRUPTION_WORDS, corruption.gives, type(corruption).__name__)
        if replacement is not None:
            _refuse(name, objective, REPLACEMENT_WORDS, left_by(replacement), type(replacement).__name__)
    if masking is not None and replacement is not None:
        _check_replacement(masking, replacement)


def _check_replacement(masking: MaskingScheme, replacement: ReplacementScheme) -> None:
    """Refuse a replacement that has nothing to replace, or no answer to some spans. Raises: ConfigError."""
    given: frozenset[str] = given_by(masking)
    asked: frozenset[str] = getattr(replacement, "needs", frozenset())
    names = type(masking).__name__, type(replacement).__name__
    for word in sorted(asked - given):
        why = ASKED_OF_MASKING.get(word, f"asks for '{word}' and masking {{part}} gives none. Use a masking that does.")
        raise ConfigError(f"replacement {names[1]} {why.format(part=names[0])}")
    if isinstance(replacement, ShorteningReplacement) and "lone_spans" in given - asked:
        raise ConfigError(
            f"masking {names[0]} hides spans without a group too, and replacement {names[1]} puts nothing there. Set "
            "replacement.others to Replacement(), or use RecurringGroups()."
        )


def check_encoder_needs(encoder: EncoderValues, objectives: Mapping[str, Needy]) -> None:
    """Refuse objectives that this encoder cannot serve. Raises: ConfigError naming both."""
    given = {"causal" if encoder.causal else "bidirectional"} | ({"pooler"} if encoder.pooler else set())
    for name, objective in objectives.items():
        _refuse(name, objective, ENCODER_WORDS, given)


def _refuse(name: str, objective: Needy, words: Mapping[str, str], given: Set[str], part: str = "") -> None:
    """Refuse an objective that needs one of `words` that the part does not give. Raises: ConfigError."""
    for word in sorted(objective.needs & words.keys() - given):
        raise ConfigError(f"objective '{name}' {words[word].format(part=part)}")
