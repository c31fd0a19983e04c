"""Hidden states of whole documents, encoded segment by segment in packs that documents share.

Letters: T pieces of a document, D hidden size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.nn.coreference.head import LONG
from spanwise.nn.sequences import Sequences
from spanwise.runtime.memory import return_freed_memory
from spanwise.tasks.batches import MIN_PACK_TOKENS, filled
from spanwise.tasks.coref.features import CoreferenceFeatures

MAX_PACK_TOKENS = 2048  # a long document's states lie in memory meanwhile, so its packs are kept small


def document_states(
    encode: Callable[[Batch], Tensor], features: CoreferenceFeatures, pack_tokens: int
) -> Iterator[list[Tensor]]:
    """For every document a list of one tensor: its pieces' hidden states, float32 [T, D], special tokens left out.

    The list is handed over: who pops the tensor out of it has the only reference. Segments are encoded in order, many
    documents' together; at most one document is under way beside the pack.
    """
    budget = min(pack_tokens, MAX_PACK_TOKENS)
    if max((end - begin for begin, end in map(features.range_of, range(len(features)))), default=0) > LONG:
        budget = min(budget, MAX_PACK_TOKENS // 2)  # its own states weigh as much as a pack
    ready: dict[int, list[Tensor]] = {}
    written: dict[int, int] = {}
    next_row = 0
    for pack in _packs(features, budget):
        batch = _batch([ids for _, ids in pack])
        hidden_TD = encode(batch)
        place = 0
        for row, ids in pack:
            if row not in ready:
                begin, end = features.range_of(row)
                ready[row] = [torch.empty((end - begin, hidden_TD.shape[1]), device=hidden_TD.device)]
                written[row] = 0
            states, at = ready[row][0], written[row]
            begin, num_pieces = place + len(features.frame.before), len(ids) - features.frame.num_specials
            states[at : at + num_pieces] = hidden_TD[begin : begin + num_pieces]
            written[row] = at + num_pieces
            place += len(ids)
        del hidden_TD, states
        if len(ready) == 1 and len(next(iter(ready.values()))[0]) > MAX_PACK_TOKENS:
            return_freed_memory()  # a long document is under way: let its packs leave nothing behind
        while next_row < len(features):
            begin, end = features.range_of(next_row)
            if written.get(next_row, 0) < end - begin:
                break
            yield ready.pop(next_row, [torch.empty((0, 0))])
            next_row += 1
    for _ in range(next_row, len(features)):  # without pieces, behind the last that has any
        yield [torch.empty((0, 0))]


def _packs(features: CoreferenceFeatures, budget: int) -> Iterator[list[tuple[int, np.ndarray]]]:
    """(document, token ids) of segments in order, about `budget` tokens together."""
    pack: list[tuple[int, np.ndarray]] = []
    size = 0
    for row in range(len(features)):
        for ids in features.segment_ids(row):
            if pack and size + len(ids) > budget:
                yield pack
                pack, size = [], 0
            pack.append((row, ids))
            size += len(ids)
    if pack:
        yield pack


def _batch(segments: list[np.ndarray]) -> Batch:
    ids = torch.from_numpy(np.concatenate(segments).astype(np.int64))
    batch = Batch(
        input_ids=ids,
        token_type_ids=torch.zeros_like(ids),
        sequences=Sequences.from_lengths([len(segment) for segment in segments]),
    )
    return filled(batch, MIN_PACK_TOKENS)
