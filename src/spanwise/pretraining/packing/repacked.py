"""The steps of a source in other packs: a step keeps its sequences and masks, whatever number of packs carries it.

Letters: T tokens, S sequences, M spans, N hidden tokens.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from spanwise.data.batch import Batch
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.masking.merge import move, some_spans
from spanwise.pretraining.mixtures.length_warmup import Source
from spanwise.pretraining.mixtures.mixed_source import join_masked
from spanwise.pretraining.mixtures.steps import Position
from spanwise.pretraining.packs import Hidden, Pack, Spans


class RepackedSource:
    """A `BatchSource`: the steps of `source`, of `num_portions` packs each, carried by `num_packs` packs.

    Fewer packs hold whole packs of the source end to end; more packs each hold a part of one, cut between sequences
    where its tokens divide most evenly. Every sequence stays in its step with the spans that were hidden in it.

    batch: makes a batch of a pack.
    """

    def __init__(self, source: Source, batch: Callable[[Masked], Batch], num_portions: int, num_packs: int) -> None:
        self._source, self._batch = source, batch
        self._num_portions, self._num_packs = num_portions, num_packs

    @property
    def tables(self) -> list[tuple[BlockTable, float]]:
        return self._source.tables

    def position(self, index: int) -> Position:
        return self._source.position(index)

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """Return the packs of one step, or of several processes' shares the one of process `rank`. A pack that no
        sequence falls to is left out."""
        return [self._batch(masked) for masked in self.masked_step(index, rank, num_ranks)]

    def masked_step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Masked]:
        """Return the packs of one step before they become tensors."""
        packs = [self._pack(index, number) for number in range(rank, self._num_packs, num_ranks)]
        return [pack for pack in packs if len(pack.pack.block_ids)]

    def _pack(self, index: int, number: int) -> Masked:
        of_source, packs = self._num_portions, self._num_packs
        first = number * of_source // packs
        if packs <= of_source:
            portions = range(first, (number + 1) * of_source // packs)
            return join_masked([self._portion(index, portion) for portion in portions])
        begin, end = (-(-(first + more) * packs // of_source) for more in (0, 1))  # the packs cut out of this portion
        return _part(self._portion(index, first), number - begin, end - begin)

    def _portion(self, index: int, number: int) -> Masked:
        (masked,) = self._source.masked_step(index, number, self._num_portions)
        return masked


def most_tokens(max_tokens: int, longest: int, num_portions: int, num_packs: int) -> int:
    """Return the most tokens of one of so many packs, where each portion has at most `max_tokens` of them and a
    sequence at most `longest`."""
    if num_packs <= num_portions:
        return -(-num_portions // num_packs) * max_tokens
    return min(max_tokens, -(-max_tokens // (num_packs // num_portions)) + longest)


def share_of(max_tokens: int, longest: int, num_portions: int, num_packs: int) -> float:
    """Return how much one of so many packs holds at most, in portions."""
    return most_tokens(max_tokens, longest, num_portions, num_packs) / max_tokens


def _part(masked: Masked, number: int, num_parts: int) -> Masked:
    """Return the sequences of one of so many parts of nearly equal tokens."""
    borders = masked.pack.borders
    wanted = np.array([number, number + 1]) * borders[-1] // num_parts
    first, last = np.searchsorted(borders, wanted).tolist()
    return cut_masked(masked, first, last)


def cut_masked(masked: Masked, first: int, last: int) -> Masked:
    """Return the sequences [first, last) of a pack as one of their own, with what is hidden in them."""
    pack, hidden = masked.pack, masked.hidden
    wanted_N = (hidden.sequence >= first) & (hidden.sequence < last)
    begin, end = pack.borders[[first, last]]
    first_span = int((masked.spans.sequence < first).sum())
    return Masked(
        pack=_cut_pack(pack, first, last),
        spans=_cut_spans(masked.spans, pack.borders, first, last),
        hidden=Hidden(
            position=hidden.position[wanted_N] - begin,
            span=hidden.span[wanted_N] - first_span,
            sequence=hidden.sequence[wanted_N] - first,
            original_ids=hidden.original_ids[wanted_N],
        ),
        input_ids=masked.input_ids[begin:end],
        draws=None if masked.draws is None else masked.draws[wanted_N],
        text=None if masked.text is None else _cut_pack(masked.text, first, last),
        chosen=None
        if masked.text is None or masked.chosen is None
        else _cut_spans(masked.chosen, masked.text.borders, first, last),
    )


def _cut_pack(pack: Pack, first: int, last: int) -> Pack:
    begin, end = pack.borders[[first, last]]
    return replace(
        pack,
        input_ids=pack.input_ids[begin:end],
        token_type_ids=pack.token_type_ids[begin:end],
        borders=pack.borders[first : last + 1] - begin,
        maskable=pack.maskable[begin:end],
        starts_word=pack.starts_word[begin:end],
        block_ids=pack.block_ids[first:last],
        pair_labels=None if pack.pair_labels is None else pack.pair_labels[first:last],
        side={name: array[begin:end] for name, array in pack.side.items()},
        positions=None if pack.positions is None else pack.positions[begin:end],
        questions=None if pack.questions is None else _cut_spans(pack.questions, pack.borders, first, last),
    )


def _cut_spans(spans: Spans, borders: np.ndarray, first: int, last: int) -> Spans:
    """Return the spans of some sequences."""
    num_sequences = len(borders) - 1
    some = some_spans(spans, (spans.sequence >= first) & (spans.sequence < last))
    return move(some, np.arange(num_sequences) - first, np.full(num_sequences, -borders[first]))
