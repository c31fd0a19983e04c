"""From "this token is hidden" to spans, and back.

Spans that touch or overlap are one span: between two touching spans lies no visible token, so the boundary of each
would itself be hidden. Merged spans are therefore exactly the unbroken runs of hidden tokens of a sequence.

Source: SpanBERT's code, spec FAMILY section 1.3 step 6. Letters: T tokens, S sequences, M spans, N hidden tokens.
"""

from __future__ import annotations

import numpy as np

from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit


@njit
def no_token_hidden(num_tokens):
    """Return zeros for T tokens, uint8, one byte a token, with room so that `runs` can read eight bytes at once."""
    return np.zeros((num_tokens + 7) // 8 * 8, dtype=np.uint8)


@njit
def runs(hidden_T, borders, max_spans):
    """Return (sequence [M], start [M], end [M]) of the runs of hidden tokens; runs end where a sequence ends.

    `hidden_T` is what `no_token_hidden` gave, with ones at hidden tokens; `max_spans` is at least M.
    """
    sequence = np.empty(max_spans, dtype=np.int64)
    start = np.empty(max_spans, dtype=np.int64)
    end = np.empty(max_spans, dtype=np.int64)
    eight_tokens = hidden_T.view(np.uint64)
    num_tokens = borders[-1]
    m, s, t = 0, 0, 0
    while t < num_tokens:
        if (t & 7) == 0 and eight_tokens[t >> 3] == 0:
            t += 8
            continue
        if not hidden_T[t]:
            t += 1
            continue
        while t >= borders[s + 1]:
            s += 1
        sequence[m] = s
        start[m] = t
        last = borders[s + 1]
        while t < last and hidden_T[t]:
            t += 1
        end[m] = t
        m += 1
    return sequence[:m], start[:m], end[:m]


@njit
def _hidden(start, end, input_ids, num_hidden):
    position = np.empty(num_hidden, dtype=np.int64)
    span = np.empty(num_hidden, dtype=np.int64)
    original = np.empty(num_hidden, dtype=np.int64)
    i = 0
    for m in range(len(start)):
        for t in range(start[m], end[m]):
            position[i] = t
            span[i] = m
            original[i] = input_ids[t]
            i += 1
    return position, span, original


@njit
def _num_hidden(start, end):
    count = 0
    for m in range(len(start)):
        count += end[m] - start[m]
    return count


def hidden_tokens(pack: Pack, spans: Spans) -> Hidden:
    """Return the N hidden tokens in order of position, with what stood there before any replacement."""
    num_hidden = _num_hidden(spans.start, spans.end)
    position, span, original = _hidden(spans.start, spans.end, pack.input_ids, num_hidden)
    return Hidden(position=position, span=span, original_ids=original)
