"""Several maskings in one run: each sequence is masked by one of them, drawn with given shares.

Spans of words are what SpanBERT should learn from, and they are hard: a small encoder needs many millions of tokens
before it has found that the words beside a gap say most about it. Single pieces teach that within a million, and what
they teach serves the spans too (docs/log.md).

Source: Tay et al. 2022 (UL2), section 3.1: a mixture of denoisers, there one per sequence as well.
Letters: T tokens in the pack, S sequences, M spans.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import SkipValidation

from spanwise.config import part
from spanwise.config.ranges import Factor
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.base import (
    MaskingScheme,
    bound,
    check_masking,
    counts_spans,
    given_by,
    least_room,
    num_maskable,
    side_arrays_of,
)
from spanwise.pretraining.masking.checked import selected
from spanwise.pretraining.masking.merge import join_spans, move
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import child_key, uniform

CHOICE, OWN = 0, 1  # numbers of the keys that a sequence's key gives: which masking, and what it draws


@part("masking_mixture")
class MaskingMixture:
    """Mask every sequence by one of `schemes`, which have names; `shares` say how often each is drawn (None: alike).

    All schemes must hide the same share of tokens, so that a pack's number of targets does not hang on the draw.
    """

    schemes: dict[str, SkipValidation[MaskingScheme]]
    shares: dict[str, Factor] | None = None

    def __post_init__(self) -> None:
        if len(self.schemes) < 2:
            raise ConfigError(f"masking.schemes must name two maskings or more, got {len(self.schemes)}.")
        for name, scheme in self.schemes.items():
            check_masking(f"schemes.{name}", scheme)
        ratios = [scheme.ratio for scheme in self.schemes.values()]
        if len(set(ratios)) > 1:
            raise ConfigError(f"masking.schemes must have one ratio, got {', '.join(map(str, ratios))}.")
        shares = self._shares
        if shares.keys() != self.schemes.keys():
            raise ConfigError(
                f"masking.shares must give each of {', '.join(self.schemes)} a number, got {self.shares}."
            )

    @property
    def _shares(self) -> dict[str, float]:
        return dict.fromkeys(self.schemes, 1.0) if self.shares is None else self.shares

    @property
    def ratio(self) -> float:
        return next(iter(self.schemes.values())).ratio

    @property
    def gives(self) -> frozenset[str]:
        """All that every one of the schemes gives, and the kinds of spans that any of them gives."""
        given = [given_by(scheme) for scheme in self.schemes.values()]
        return frozenset.intersection(*given) | (frozenset.union(*given) & {"groups", "lone_spans"})

    @property
    def counts_spans(self) -> bool:
        """Whether any of the schemes counts spans."""
        return any(map(counts_spans, self.schemes.values()))

    @property
    def side_arrays(self) -> tuple[str, ...]:
        return side_arrays_of(self.schemes.values())

    def for_vocabulary(self, vocabulary: Vocabulary) -> MaskingMixture:
        """Return the mixture with each scheme as it works with this vocabulary."""
        return replace(self, schemes={name: bound(scheme, vocabulary) for name, scheme in self.schemes.items()})

    def least_room(self, num_maskable: np.ndarray) -> np.ndarray:
        """Return the room that every sequence needs, int64 [S], whichever scheme is drawn for it."""
        return np.max([least_room(scheme, num_maskable) for scheme in self.schemes.values()], axis=0)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        shares = np.asarray([self._shares[name] for name in self.schemes], dtype=np.float64)
        chosen_S, own_keys_S = np.zeros(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.uint64)
        _draw(keys, np.cumsum(shares) / shares.sum(), chosen_S, own_keys_S)
        num_maskable_S = num_maskable(pack)
        rooms = np.stack([least_room(scheme, num_maskable_S) for scheme in self.schemes.values()])
        room_S = rooms[chosen_S, np.arange(len(keys))]
        found, room = [], capacity
        for number, scheme in enumerate(self.schemes.values()):
            rows = np.flatnonzero(chosen_S == number)
            if not len(rows):
                continue
            # what later schemes must hide at least is kept free for them
            kept = int(room_S[chosen_S > number].sum())
            spans = selected(
                scheme, of_sequences(pack, rows), own_keys_S[rows], capacity=None if room is None else room - kept
            )
            if room is not None:
                room -= int((spans.end - spans.start).sum())
            lengths_R = np.diff(pack.borders)[rows]
            found.append(move(spans, rows, pack.borders[rows] - np.cumsum(lengths_R) + lengths_R))
        return join_spans(found)


@njit
def _draw(keys_S, limits, chosen_S, own_S):
    """Write the number of the scheme of each sequence, int64 [S] of zeros, and the key that it draws by, uint64 [S]."""
    for s in range(len(keys_S)):
        chance = uniform(child_key(keys_S[s], CHOICE), 0)
        while chosen_S[s] < len(limits) - 1 and chance >= limits[chosen_S[s]]:
            chosen_S[s] += 1
        own_S[s] = child_key(keys_S[s], OWN)


def of_sequences(pack: Pack, rows: np.ndarray) -> Pack:
    """The pack of the sequences `rows` alone."""
    if len(rows) == len(pack.block_ids):
        return pack
    lengths_S = np.diff(pack.borders)
    borders = np.concatenate([[0], np.cumsum(lengths_S[rows])])
    tokens = np.arange(borders[-1]) + np.repeat(pack.borders[rows] - borders[:-1], lengths_S[rows])
    return replace(
        pack,
        input_ids=pack.input_ids[tokens],
        token_type_ids=pack.token_type_ids[tokens],
        borders=borders,
        maskable=pack.maskable[tokens],
        starts_word=pack.starts_word[tokens],
        block_ids=pack.block_ids[rows],
        pair_labels=None if pack.pair_labels is None else pack.pair_labels[rows],
        side={name: array[tokens] for name, array in pack.side.items()},
    )
