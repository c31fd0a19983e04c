"""Sets of tokens as bits: 64 tokens a word, so that words, spans and runs are found by counting instead of by guessing.

What stands where in a text can't be predicted, and a wrong guess of the processor costs more than all the arithmetic
of a span. Token t is bit `t % 64` of word `t // 64`; every set has one word more than its T tokens need, so that a
search may look past the last of them. Letters: T tokens in the pack, B words of bits, S sequences, M spans.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.bit_operations import num_ones, trailing_zeros
from spanwise.runtime.compiled import njit

_ONE, _WORD, _LAST, _BYTE = (np.uint64(n) for n in (1, 64, 63, 8))
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_GATHER = np.uint64(0x0102_0408_1020_4080)  # brings the lowest bit of each of eight bytes together in the topmost byte
_TOP_BYTE = np.uint64(56)


@njit
def no_bits(num_tokens):
    """Return the empty set of T tokens, uint64 [B]."""
    return np.zeros(num_tokens // 64 + 2, dtype=np.uint64)


@njit
def bits_of(flags_T):
    """Return the set of the tokens whose flag is true, uint64 [B]; flags bool or uint8 of zeros and ones, [T]."""
    bits = no_bits(len(flags_T))
    num_whole = len(flags_T) // 64
    eights = flags_T[: num_whole * 64].view(np.uint8).view(np.uint64)
    for w in range(num_whole):
        word = np.uint64(0)
        for i in range(8):
            word |= ((eights[8 * w + i] * _GATHER) >> _TOP_BYTE) << (_BYTE * np.uint64(i))
        bits[w] = word
    for t in range(num_whole * 64, len(flags_T)):
        bits[num_whole] |= np.uint64(flags_T[t]) << np.uint64(t & 63)
    return bits


@njit
def border_bits(borders):
    """Return the set of the tokens that begin a sequence; the place after the last token counts as one."""
    bits = no_bits(borders[-1])
    for border in borders:
        bits[border >> 6] |= _ONE << np.uint64(border & 63)
    return bits


@njit
def word_bits(maskable, starts, first):
    """Return the set of the tokens where a word begins: maskable ones that start a word, follow a token that is not
    maskable, or begin a sequence. All arguments are sets."""
    words = np.empty_like(maskable)
    carry = np.uint64(0)  # whether the token before this word of bits is maskable
    for w in range(len(maskable)):
        before = (maskable[w] << _ONE) | carry
        carry = maskable[w] >> _LAST
        words[w] = maskable[w] & (starts[w] | ~before | first[w])
    return words


@njit(inline="always")
def holds(bits, t):
    """Whether token t is in the set."""
    return (bits[t >> 6] >> np.uint64(t & 63)) & _ONE != 0


@njit
def word_start(words, t):
    """Return the last place up to t that is in `words`; there must be one."""
    w = t >> 6
    word = words[w] & (_ALL >> np.uint64(63 - (t & 63)))
    while word == 0:
        w -= 1
        word = words[w]
    while word & (word - _ONE) != 0:  # all but the highest; few words begin between here and there
        word &= word - _ONE
    return w * 64 + np.int64(trailing_zeros(word))


@njit
def word_end(words, gaps, t, num_words):
    """Return where the text of `num_words` words from token t on ends: before the next word that is too many, or at
    the first token of `gaps`, which no word goes across. There must be a gap after t."""
    w = t >> 6
    after = (_ALL << np.uint64(t & 63)) << _ONE
    left = num_words
    while True:
        begin, gap = words[w] & after, gaps[w] & after
        here = np.int64(num_ones(begin))
        if here >= left or gap != 0:
            for _ in range(left - 1):
                begin &= begin - _ONE
            place = min(np.int64(trailing_zeros(begin)), np.int64(trailing_zeros(gap)))
            if place < 64:
                return w * 64 + place
        left -= here
        after = _ALL
        w += 1


@njit(inline="always")
def _part(w, start, end):
    """The bits of word w that lie in [start, end), which meets it."""
    low = max(start - w * 64, 0)
    high = min(end - w * 64, 64)
    return (_ALL << np.uint64(low)) & (_ALL >> np.uint64(64 - high))


@njit(inline="always")
def num_missing(bits, start, end):
    """How many of the tokens [start, end) are not in the set; at least one token."""
    count = np.uint64(0)
    for w in range(start >> 6, ((end - 1) >> 6) + 1):
        count += num_ones(_part(w, start, end) & ~bits[w])
    return np.int64(count)


@njit(inline="always")
def add_all(bits, start, end):
    """Put the tokens [start, end), at least one, into the set."""
    for w in range(start >> 6, ((end - 1) >> 6) + 1):
        bits[w] |= _part(w, start, end)


@njit
def runs_of(bits, first, borders, max_spans):
    """Return (sequence [M], start [M], end [M]) of the unbroken runs of a set; runs end where a sequence ends.

    `first` is the set that `border_bits` gives; `max_spans` is at least M.
    """
    sequence = np.empty(max_spans, dtype=np.int64)
    start = np.empty(max_spans, dtype=np.int64)
    end = np.empty(max_spans, dtype=np.int64)
    num_starts, num_ends, s = 0, 0, 0
    carry = np.uint64(0)
    for w in range(len(bits)):
        word = bits[w]
        before = (word << _ONE) | carry
        carry = word >> _LAST
        begins = word & (~before | first[w])
        ends = before & (~word | first[w])
        for _ in range(num_ones(begins)):
            start[num_starts] = w * 64 + np.int64(trailing_zeros(begins))
            begins &= begins - _ONE
            num_starts += 1
        for _ in range(num_ones(ends)):
            end[num_ends] = w * 64 + np.int64(trailing_zeros(ends))
            ends &= ends - _ONE
            num_ends += 1
    for m in range(num_starts):
        while start[m] >= borders[s + 1]:
            s += 1
        sequence[m] = s
    return sequence[:num_starts], start[:num_starts], end[:num_starts]
