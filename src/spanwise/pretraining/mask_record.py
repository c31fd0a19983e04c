"""A masking as plain JSON: kept beside a run (masks.json), drawn by reports.

Letters: S sequences, M spans.
"""

from collections.abc import Iterable

import numpy as np

from spanwise.pretraining.collate import Masked
from spanwise.runtime.files import JsonObject

RECORD_NAME = "masks.json"
MAX_SEQUENCES = 16  # kept one by one; lengths of spans are counted over all


def mask_record(masked: Iterable[Masked]) -> JsonObject:
    """Return the lengths and spans of the first sequences, and how long all M spans are.

    Keys: `lengths` (tokens of each kept sequence, specials included), `spans` ([sequence, start, end] in tokens of its
    sequence, half-open), `span_lengths` ({tokens: count}), `num_hidden`, `num_tokens` (without specials), `num_spans`.
    """
    lengths: list[int] = []
    spans: list[list[int]] = []
    counts: dict[int, int] = {}
    num_tokens = 0
    for one in masked:
        first = len(lengths)
        pack, chosen = (one.pack, one.spans) if one.text is None or one.chosen is None else (one.text, one.chosen)
        borders = pack.borders
        num_tokens += int(pack.maskable.sum())
        for size in (chosen.end - chosen.start).tolist():
            counts[size] = counts.get(size, 0) + 1
        kept = max(0, min(MAX_SEQUENCES - first, len(borders) - 1))
        lengths += np.diff(borders)[:kept].tolist()
        for sequence, start, end in zip(chosen.sequence, chosen.start, chosen.end, strict=True):
            if sequence < kept:
                origin = int(borders[sequence])
                spans.append([first + int(sequence), int(start) - origin, int(end) - origin])
    return {
        "lengths": lengths,
        "spans": spans,
        "span_lengths": {str(size): counts[size] for size in sorted(counts)},
        "num_hidden": sum(size * count for size, count in counts.items()),
        "num_tokens": num_tokens,
        "num_spans": sum(counts.values()),
    }
