"""The parts of a clause in another order, some of them left out or cut to their last noun."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from spanwise.questions.korean.chunks import Chunk
from spanwise.questions.korean.particles import with_particle

MAX_CHARACTERS = 50  # of the parts that are kept, as far as some can go
LEFT_OUT, SWAPPED, TURNED, CUT = 0.4, 0.15, 0.4, 0.25


def in_order(text: str, chunks: Sequence[Chunk], draw: random.Random, *, keep_topic: bool) -> str:
    """Return parts in an order that is drawn; a topic becomes a subject unless `keep_topic`."""
    free = [chunk for chunk in chunks if chunk.role in ("adverbial", "block")]
    firm = [chunk for chunk in chunks if chunk.role not in ("adverbial", "block")]
    while free and (
        sum(chunk.end - chunk.start for chunk in (*free, *firm)) > MAX_CHARACTERS
        or (len(free) + len(firm) > 2 and draw.random() < LEFT_OUT)
    ):
        free.pop(0 if free[0].role == "block" else draw.randrange(len(free)))
    if draw.random() < SWAPPED:
        firm.reverse()
    if draw.random() < TURNED:
        free.reverse()
    place = draw.randrange(len(firm) + 1)
    mixed = (*firm[:place], *free, *firm[place:])
    return " ".join(_shown(text, chunk, draw, keep_topic=keep_topic) for chunk in mixed)


def _shown(text: str, chunk: Chunk, draw: random.Random, *, keep_topic: bool) -> str:
    if chunk.stem < chunk.end and draw.random() < CUT:
        noun = text.rfind(" ", chunk.start, chunk.stem) + 1
        is_whole = chunk.stem - noun > 2 and text[noun : chunk.stem].isalpha()
        chunk = replace(chunk, start=noun) if noun > chunk.start and is_whole else chunk
    written = text[chunk.start : chunk.end].rstrip(",")
    if chunk.role != "topic" or keep_topic:
        return written
    stem, particle = text[chunk.start : chunk.stem], text[chunk.stem : chunk.end].rstrip(",")
    if len(particle) > 1:
        return stem + (particle[:-1] if particle[-1] in "은는" else particle)  # 부산에서는: 부산에서
    return with_particle(stem, particle)
