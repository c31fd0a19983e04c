"""Random numbers that are counted, never carried: every draw is a pure function of a key and a counter.

There is no generator state anywhere, so nothing random is saved with a checkpoint, and a draw does not depend on
the number of processes, threads or batch-mates. Streams never change between releases: `tests/runtime/test_seed.py`
holds frozen vectors.

The hash is splitmix64 (Steele, Lea and Flood 2014): the `counter`-th number of a key is the finaliser of
`key + (counter + 1) * golden`. All arithmetic is modulo 2**64; negative seeds and counters wrap.
"""

from functools import cache

import numpy as np

from spanwise.runtime.compiled import njit

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, splitmix64's increment
_CHILD = 0xD1B54A32D192ED03  # keeps the keys made from a key apart from the numbers drawn with it

_GOLDEN_U64 = np.uint64(_GOLDEN)
_CHILD_U64 = np.uint64(_CHILD)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_SHIFT_11, _SHIFT_27, _SHIFT_30, _SHIFT_31, _SHIFT_32 = (np.uint64(n) for n in (11, 27, 30, 31, 32))
_LOW_32 = np.uint64(0xFFFF_FFFF)
_UNIT = 2.0**-53


@njit
def mix(key, counter):
    """Return the `counter`-th 64 random bits of a key, as uint64."""
    z = np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN_U64
    z = (z ^ (z >> _SHIFT_30)) * _MULTIPLIER_1
    z = (z ^ (z >> _SHIFT_27)) * _MULTIPLIER_2
    return z ^ (z >> _SHIFT_31)


@njit
def high_product(a, b):
    """Return the upper 64 of the 128 bits of a product of two uint64, by halves of 32 bits."""
    a, b = np.uint64(a), np.uint64(b)
    a_low, a_high, b_low, b_high = a & _LOW_32, a >> _SHIFT_32, b & _LOW_32, b >> _SHIFT_32
    inner = a_high * b_low + ((a_low * b_low) >> _SHIFT_32)
    outer = a_low * b_high + (inner & _LOW_32)
    return a_high * b_high + (inner >> _SHIFT_32) + (outer >> _SHIFT_32)


@njit
def uniform(key, counter):
    """Return the `counter`-th number of a key in [0, 1), with 53 random bits."""
    return np.float64(mix(key, counter) >> _SHIFT_11) * _UNIT


@njit
def below(key, counter, n):
    """Return the `counter`-th integer of a key in [0, n), n at least 1: the multiply-shift of Lemire 2019.

    It is the floor of `bits * n / 2**64`; the bias is at most n / 2**64, and a draw never repeats itself, so that
    counters stay aligned.
    """
    return np.int64(high_product(mix(key, counter), np.uint64(n)))


@njit
def child_key(key, counter):
    """Return a key for something numbered inside what `key` stands for; unrelated to the numbers of `key` itself."""
    return mix(np.uint64(key) ^ _CHILD_U64, counter)


@njit
def _child_keys(key, counters_S):
    keys_S = np.empty(len(counters_S), dtype=np.uint64)
    for s in range(len(counters_S)):
        keys_S[s] = child_key(key, counters_S[s])
    return keys_S


@njit
def _token_keys(keys_S, borders):
    keys_T = np.empty(borders[-1], dtype=np.int64)
    for s in range(len(keys_S)):
        for t in range(borders[s], borders[s + 1]):
            keys_T[t] = np.int64(mix(keys_S[s], t - borders[s]))
    return keys_T


@njit
def _uniforms(key, first, count):
    numbers = np.empty(count, dtype=np.float64)
    for i in range(count):
        numbers[i] = uniform(key, first + i)
    return numbers


def uniforms(key: int, count: int, first: int = 0) -> np.ndarray:
    """Return the numbers `first` to `first + count` of a key, float64 in [0, 1)."""
    return _uniforms(np.uint64(key), np.int64(first), np.int64(count))


def _finalise(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _mix(key: int, counter: int) -> int:
    return _finalise((key + ((counter + 1) & _MASK) * _GOLDEN) & _MASK)


@cache  # a handful of purposes, asked for at every pack
def _fnv1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def derive_key(seed: int, purpose: str, *counters: int) -> int:
    """Return the 64-bit key of one purpose of one run, e.g. `derive_key(seed, "masking", epoch, block)`.

    Two purposes, or two tuples of counters, have unrelated keys; the order of the counters matters.
    """
    key = _mix(_mix(seed & _MASK, 0) ^ _fnv1a(purpose), 0)
    for counter in counters:
        key = _mix(key ^ _CHILD, int(counter))
    return key


def keys_for(seed: int, purpose: str, epoch: int, block_ids: np.ndarray) -> np.ndarray:
    """Return one key per sequence, uint64 [S]: `derive_key(seed, purpose, epoch, block_id)` for block_ids [S]."""
    block_ids_S = np.ascontiguousarray(block_ids, dtype=np.int64)
    return _child_keys(np.uint64(derive_key(seed, purpose, epoch)), block_ids_S)


def token_keys(keys: np.ndarray, borders: np.ndarray) -> np.ndarray:
    """Return a key of 64 bits for every token, int64 [T], from those of its sequence, uint64 [S], and its place there;
    `borders` [S+1] are of the sequences."""
    return _token_keys(np.ascontiguousarray(keys, dtype=np.uint64), np.ascontiguousarray(borders, dtype=np.int64))


def signed(key: int) -> int:
    """Return the number from -2**63 to 2**63 - 1 that has the bits of a key."""
    return key - (1 << 64) if key >> 63 else key


def seed_device(seed: int, purpose: str, *counters: int) -> None:
    """Reseed torch's default generators for what draws from them, such as a part that a user wrote."""
    import torch  # here, so that array code needs no torch

    key = derive_key(seed, purpose, *counters)
    torch.default_generator.manual_seed(key)
    if torch.cuda.is_available():
        torch.cuda.manual_seed(key)
