"""From "this token is hidden" to spans, and back.

Spans that touch or overlap are one span: between two touching spans lies no visible token, so the boundary of each
would itself be hidden. Merged spans are therefore exactly the unbroken runs of hidden tokens of a sequence.

Source: SpanBERT's code, spec FAMILY section 1.3 step 6. Letters: T tokens, S sequences, M spans, N hidden tokens.
"""

from __future__ import annotations

import numpy as np

from spanwise.pretraining.masking.bits import bits_of, border_bits, runs_of
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit


@njit
def no_token_hidden(num_tokens):
    """Return zeros for T tokens, uint8: a token is hidden where a scheme puts a one."""
    return np.zeros(num_tokens, dtype=np.uint8)


@njit
def runs(hidden_T, borders, max_spans):
    """Return (sequence [M], start [M], end [M]) of the runs of hidden tokens; runs end where a sequence ends.

    `hidden_T` has a one, uint8 or bool, at each hidden token; `max_spans` is at least M.
    """
    return runs_of(bits_of(hidden_T), border_bits(borders), borders, max_spans)


@njit
def _hidden(sequence_M, start_M, end_M, input_ids_T):
    num_hidden = 0
    for m in range(len(start_M)):
        num_hidden += end_M[m] - start_M[m]
    columns = np.empty((4, num_hidden), dtype=np.int64)
    position_N, span_N, sequence_N, original_N = columns
    i = 0
    for m in range(len(start_M)):
        s = sequence_M[m]
        for t in range(start_M[m], end_M[m]):
            position_N[i], span_N[i], sequence_N[i], original_N[i] = t, m, s, input_ids_T[t]
            i += 1
    return columns


def hidden_tokens(pack: Pack, spans: Spans) -> Hidden:
    """Return the N hidden tokens in order of position, with what stood there before any replacement."""
    position, span, sequence, original = _hidden(spans.sequence, spans.start, spans.end, pack.input_ids)
    return Hidden(position=position, span=span, sequence=sequence, original_ids=original)
