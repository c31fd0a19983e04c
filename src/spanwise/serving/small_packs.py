"""A second, smaller shape for packs, so that a lone request need not pay for a full one, where bytes stay equal.

Kernels are chosen by the number of rows, and may then add up in another order. Whether this machine's do is tried when
a model is opened: inputs of several lengths are answered in packs of both shapes, and the encoder's states of every row
are compared. One bit of difference, and the model keeps to the one shape.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.errors import SpanwiseError
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences
from spanwise.pipelines.base import Pipeline
from spanwise.runtime.device import autocast, resolve_precision
from spanwise.tasks.batches import MIN_PACK_TOKENS, SPARE_TOKENS, Packing

SHARE = 3  # of a pack that a small one has
SENTENCE = "Ada Smith came home to Paris. She was tired. "
COUNTS = (1, 9)  # of sentences: some 12 and 110 tokens


def small_size(tokens: int) -> int:
    """Return the size of small packs beside those of `tokens`; 0 where they would be too small to be of use."""
    size = tokens // SHARE // SPARE_TOKENS * SPARE_TOKENS
    return size if size >= MIN_PACK_TOKENS else 0


def allow_small_packs(given: Sequence[tuple[str, Pipeline[Any, Any, Any]]], mask: str = "[MASK]") -> int:
    """Let pipelines of one model that have fixed packs have small ones too; return how many do. Each has its task.

    A pipeline does where no bit of what it answers here changes, and none does where the encoder's states do. All run
    with as many threads of torch as the caller has set, which must be those of the server.
    """
    able = [(task, one) for task, one in given if one.packing.is_fixed and _encoder_of(one) is not None]
    if not able:
        return 0
    first = able[0][1]
    both = dataclasses.replace(first.packing, small=small_size(first.packing.tokens))
    if not both.small or not all(_is_alike(first, lengths, both) for lengths in _layouts(both.small)):
        return 0
    return sum(_allowed(task, one, mask) for task, one in able)


def _allowed(task: str, pipeline: Pipeline[Any, Any, Any], mask: str) -> bool:
    large = pipeline.packing
    answers = []
    for packing in (large, dataclasses.replace(large, small=small_size(large.tokens))):
        _repack(pipeline, packing)
        answers.append([_answer(pipeline, _item(task, count, mask)) for count in COUNTS])
    if answers[0] != answers[1]:
        _repack(pipeline, large)
    return answers[0] == answers[1]


def _repack(pipeline: Any, packing: Packing) -> None:
    pipeline.packing = packing
    if hasattr(pipeline, "reader"):
        pipeline.reader.packing = packing


def _encoder_of(pipeline: Any) -> Encoder | None:
    owner = getattr(pipeline, "model", None) or getattr(pipeline, "reader", None)
    encoder = getattr(owner, "encoder", None)
    return encoder if isinstance(encoder, Encoder) else None


def _answer(pipeline: Pipeline[Any, Any, Any], item: Any) -> str:
    """Return an answer to its last bit; an input that the model refuses is refused in any pack."""
    try:
        return json.dumps(pipeline(item), default=lambda value: np.asarray(value).tolist())
    except SpanwiseError as error:
        return str(error)


def _item(task: str, count: int, mask: str) -> Any:
    """Return an input of a task with a text of so many sentences."""
    text = SENTENCE * count
    known = {
        "question-answering": {"question": "Who came home?", "context": text},
        "fill-mask": f"{text} {mask} {text}",
        "span-embedding": {"text": text, "spans": [[0, 3], [4, 9], [0, len(text) - 1]]},
        "relation-extraction": {"text": text, "subject": [0, 3], "object": [4, 9]},
        "multiple-choice": {"question": text, "choices": ["Ada", "Paris"]},
    }
    return known.get(task, text)


def _layouts(small: int) -> Iterator[list[int]]:
    """Yield lengths of sequences: few and long, many and short, and a single one of each of some sizes."""
    room = small - SPARE_TOKENS
    yield [room // 3, room - room // 3]
    yield [8] * (room // 8)
    yield from ([length] for length in (24, room // 4))


@torch.inference_mode()
def _is_alike(pipeline: Pipeline[Any, Any, Any], lengths: list[int], both: Packing) -> bool:
    """Return whether the states of all rows of sequences are the same in a small pack and in a large one."""
    encoder = _encoder_of(pipeline)
    assert encoder is not None
    device = encoder.word_embedding.device
    lengths = [min(length, encoder.config.max_positions) for length in lengths]
    drawn = np.random.default_rng(0).integers(0, encoder.config.vocab_size, sum(lengths))
    ids = torch.from_numpy(drawn)
    batch = Batch(input_ids=ids, token_type_ids=torch.zeros_like(ids), sequences=Sequences.from_lengths(lengths))
    states = []
    for packing in (both, dataclasses.replace(both, small=0)):
        moved = packing.filled(batch).to(device)
        with autocast(resolve_precision(pipeline.precision, device), device):
            hidden = encoder(moved.input_ids, moved.token_type_ids, moved.sequences)
        states.append(hidden[: len(ids)].float().cpu())
    return states[0].numpy().tobytes() == states[1].numpy().tobytes()
