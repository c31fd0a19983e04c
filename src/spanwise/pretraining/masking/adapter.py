"""A masking scheme written as a plain Python function of one sequence.

```python
def every_third_word(sequence: Sequence, budget: int, draws: Draws) -> list[tuple[int, int]]:
    return [sequence.words[w] for w in range(draws.below(3), len(sequence.words), 3)]

masking = FunctionMasking(function=every_third_word)
```

For trying an idea out: a Python function costs some hundred times a compiled scheme. Letters: n tokens of one sequence.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, cast

import numpy as np
import pydantic

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.base import budgets, checked_capacity, num_maskable
from spanwise.pretraining.masking.merge import LONE, list_words, no_marks, spans_of, word_starts
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.seed import below, uniform


@dataclass(frozen=True, kw_only=True)
class Sequence:
    """The n tokens of one sequence as the function sees them: specials included, places counted from 0."""

    input_ids: np.ndarray  # [n] int64
    maskable: np.ndarray  # [n] bool
    words: list[tuple[int, int]]  # half-open (start, end) of every word, in order
    block_id: int


class Draws:
    """Random numbers of one sequence, the same at every run and whatever else is in the batch."""

    def __init__(self, key: int) -> None:
        self._key = np.uint64(key)
        self._counter = -1

    def uniform(self) -> float:
        """Return the next number in [0, 1)."""
        self._counter += 1
        return float(uniform(self._key, self._counter))

    def below(self, n: int) -> int:
        """Return the next integer in [0, n), n at least 1."""
        if n < 1:
            raise ValueError(f"below(n) needs n of 1 or more, got {n}")
        self._counter += 1
        return int(below(self._key, self._counter, n))


MaskingFunction = Callable[[Sequence, int, Draws], Iterable[tuple[int, int]]]


class NoPairsError(ConfigError):
    """A function returned something else than pairs of integers, which is a mistake for every sequence."""


def _address(function: object) -> object:
    """Write a function as `module:name`, so that a record can say which one it was."""
    if not callable(function):
        return function
    address = f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', '?')}"
    try:
        found = _resolve(address)
    except (ImportError, AttributeError):
        found = None
    if found is not function:
        raise ConfigError(f"masking.function {address} can't be found by its name; define it at the top of a module.")
    return address


def _resolve(address: str) -> MaskingFunction:
    module_name, _, name = address.partition(":")
    module = sys.modules.get(module_name) or importlib.import_module(module_name)
    return cast(MaskingFunction, getattr(module, name))


@part("function_masking")
class FunctionMasking:
    """Hide what `function(sequence, budget, draws)` returns: half-open (start, end) pairs inside one sequence.

    Pairs may touch or overlap (they are merged), and may hide more or fewer tokens than the budget.
    """

    function: Annotated[str, pydantic.BeforeValidator(_address)]  # "module:name", or the function itself
    ratio: Share = 0.15  # budget = ceil(ratio * n), handed to the function

    def __post_init__(self) -> None:
        _ = self._call

    @cached_property
    def _call(self) -> MaskingFunction:
        try:
            return _resolve(self.function)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(
                f"masking.function '{self.function}' can't be loaded ({error}); "
                "write it as 'module:function', importable from where you run."
            ) from error

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack. Raises: ConfigError where the function returns what can't be hidden."""
        budgets_S = budgets(self.ratio, num_maskable(pack))
        room = checked_capacity(capacity, budgets_S)
        reserved = int(budgets_S.sum())
        marks_T = no_marks(len(pack.input_ids))
        for s, budget in enumerate(budgets_S.tolist()):
            first, last = int(pack.borders[s]), int(pack.borders[s + 1])
            sequence = Sequence(
                input_ids=pack.input_ids[first:last].copy(),
                maskable=pack.maskable[first:last].copy(),
                words=_words(pack.maskable[first:last], pack.starts_word[first:last]),
                block_id=int(pack.block_ids[s]),
            )
            reserved -= budget
            for start, end in self._pairs(sequence, budget, Draws(int(keys[s]))):
                fresh = first + start + np.flatnonzero(marks_T[first + start : first + end] == 0)
                allowed = max(0, room - reserved)
                marks_T[fresh[:allowed]] = LONE
                room -= min(len(fresh), allowed)
        return spans_of(marks_T, pack.borders)

    def _pairs(self, sequence: Sequence, budget: int, draws: Draws) -> Iterator[tuple[int, int]]:
        """Give the pairs that the function returns, checked."""
        returned: object = self._call(sequence, budget, draws)
        if not isinstance(returned, Iterable):
            raise self._no_pairs(returned)
        for pair in returned:
            yield self._checked(pair, sequence)

    def _no_pairs(self, returned: object) -> NoPairsError:
        return NoPairsError(f"{self.function} returned {returned!r}; expected pairs of integers (start, end).")

    def _checked(self, pair: object, sequence: Sequence) -> tuple[int, int]:
        try:
            given = tuple(cast(Iterable[int], pair))
            start, end = (int(place) for place in given)
        except (TypeError, ValueError, OverflowError):
            raise self._no_pairs(pair) from None
        if (start, end) != given:  # 3.0 is a place, 3.5 is none
            raise self._no_pairs(pair)
        n = len(sequence.input_ids)
        if not 0 <= start < end <= n or not sequence.maskable[start:end].all():
            raise ConfigError(
                f"{self.function} returned span ({start}, {end}) in a sequence of {n} tokens; "
                "a span is half-open, not empty, inside the sequence and covers no special token."
            )
        return start, end


def _words(maskable: np.ndarray, starts_word: np.ndarray) -> list[tuple[int, int]]:
    n = len(maskable)
    starts, ends = np.empty((2, n), dtype=np.int64)
    num_words = list_words(0, n, maskable, word_starts(np.array([0, n]), maskable, starts_word), starts, ends)
    return list(zip(starts[:num_words].tolist(), ends[:num_words].tolist(), strict=True))
