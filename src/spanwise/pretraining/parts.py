"""The parts of a recipe that packs are made with, in one place: collators and sources hand them on as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.errors import ConfigError
from spanwise.pretraining.corruption.base import Corruption, Symbols
from spanwise.pretraining.formats.base import InputFormat
from spanwise.pretraining.formats.side_arrays import WordUnit, side_arrays_of
from spanwise.pretraining.masking.base import MaskingScheme, ReplacementScheme
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives.base import Objective

_NOTHING = Symbols()


@dataclass(frozen=True, kw_only=True)
class PackParts:
    """How text becomes packs, and what a pack may hold.

    A pack closes at the first of its capacities: `max_tokens` (specials included, before a replacement shortens
    anything), `max_sequences`, `max_targets` (hidden tokens). `num_maskings` = k repeats the sequences and masks of the
    first k epochs (static masking; 1 for validation), None draws new ones at every epoch. `word_unit` says what counts
    as a word.

    Raises: ConfigError where an objective or the replacement asks for what none of the other parts gives, and for
    capacities that no sequence fits.
    """

    format: InputFormat
    masking: MaskingScheme
    replacement: ReplacementScheme
    objectives: Mapping[str, Objective]
    corruption: Corruption = _NOTHING
    word_unit: WordUnit = "word"
    num_maskings: int | None = None
    max_tokens: int | None = None  # None: as many as one sequence
    max_sequences: int | None = None
    max_targets: int | None = None

    def __post_init__(self) -> None:
        check_needs(self.format, self.trained_objectives, self.masking, self.corruption, self.replacement)
        if self.num_maskings is not None and self.num_maskings < 1:
            raise ConfigError(
                f"num_maskings must be at least 1, or None for new maskings always; got {self.num_maskings}."
            )
        if self.tokens_of_pack < self.format.max_length:
            raise ConfigError(
                f"max_tokens={self.max_tokens} holds no sequence of format.max_length={self.format.max_length}; "
                "raise max_tokens or lower max_length."
            )

    @property
    def tokens_of_pack(self) -> int:
        """The most tokens of a pack."""
        return self.format.max_length if self.max_tokens is None else self.max_tokens

    @property
    def trained_objectives(self) -> dict[str, Objective]:
        """All that has targets, by name: the objectives, and those that the corruption learns itself."""
        return {**self.corruption.objectives, **self.objectives}

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the vocabulary must have a piece for, beside those of every encoder."""
        parts = (self.masking, self.replacement, *self.trained_objectives.values())
        return tuple(dict.fromkeys(role for part in parts for role in getattr(part, "roles", ())))

    @property
    def side_arrays(self) -> tuple[str, ...]:
        """The side arrays that a store must have."""
        return side_arrays_of(self.masking, self.word_unit)
