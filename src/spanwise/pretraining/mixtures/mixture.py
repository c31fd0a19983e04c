"""Which stores a run reads, and how much of each: `--data A:0.7 --data B:0.3`.

Shares are of the tokens that training reads, whatever the size of the stores: a small store comes again sooner, every
time in another order and under other masks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.runtime.remote.paths import path_of
from spanwise.text.tokenizers import Tokenizer

Data = str | Path | Mapping[str | Path, float] | Sequence[str | Path]
"""One store; or several with their shares, as a mapping or as texts "STORE:0.7"; without shares by their size."""


@dataclass(frozen=True, kw_only=True)
class MixturePart:
    """One store and its share of the tokens that are read."""

    store: TokenStore
    share: float  # all shares add up to 1
    name: str  # its folder's, told from those of the others


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The stores of a run, one at least; all made with one tokenizer."""

    parts: tuple[MixturePart, ...]

    @property
    def identity(self) -> str | list[dict[str, str | float]]:
        """The value a resumed run must share: the hash of the one store, or every hash with its share."""
        if len(self.parts) == 1:
            return self.parts[0].store.sha256
        return [{"store": part.store.sha256, "share": part.share} for part in self.parts]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of all stores; counts of several are shares of their mixture."""
        first = self.parts[0].store.vocabulary
        if len(self.parts) == 1:
            return first
        counts_V = np.zeros(first.size)
        for part in self.parts:
            counts_V += part.share * part.store.vocabulary.unigram_counts / max(1, part.store.num_tokens)
        return replace(first, unigram_counts=counts_V)

    def __str__(self) -> str:
        return ", ".join(f"{part.name} {part.share:.1%}" for part in self.parts)


def mixture_of(store: TokenStore) -> Mixture:
    """The mixture of one store."""
    return Mixture(parts=(MixturePart(store=store, share=1.0, name=store.path.name),))


def read_data(data: Data) -> list[tuple[Path, float | None]]:
    """Return the folders and shares that were asked for; a share is None where none was given. Opens no file.

    Raises: ConfigError for shares that are no positive numbers, given to some stores and not to others, or for a store
    that is named twice.
    """
    if isinstance(data, Mapping):
        read: list[tuple[Path, float | None]] = [
            (path_of(path), _checked(share, str(path))) for path, share in data.items()
        ]
    else:
        read = [_read_one(one) for one in ([data] if isinstance(data, str | Path) else data)]
    if not read:
        raise ConfigError("data names no store; give at least one.")
    without = [path for path, share in read if share is None]
    if without and len(without) < len(read):
        raise ConfigError(
            f"{without[0]} has no share and other stores have; give all of them one ({without[0]}:0.3), or none "
            "to read each as often as its size asks."
        )
    if len({path.resolve() for path, _ in read}) < len(read):
        raise ConfigError(f"data names one store twice: {', '.join(str(path) for path, _ in read)}. Add up its shares.")
    return read


def open_mixture(data: Data, tokenizer: Tokenizer | None = None) -> Mixture:
    """Open the stores that were asked for.

    Raises: ConfigError as `read_data`; DataError where a store is damaged, or was made with another tokenizer than
    `tokenizer` (by default that of the first store).
    """
    read = read_data(data)
    if tokenizer is None and len(read) > 1:
        tokenizer = TokenStore.open(read[0][0]).tokenizer()
    stores = [TokenStore.open(path, tokenizer) for path, _ in read]
    weights = [store.num_tokens if share is None else share for store, (_, share) in zip(stores, read, strict=True)]
    total = sum(weights) or 1
    names = _names([path for path, _ in read])
    return Mixture(
        parts=tuple(
            MixturePart(store=store, share=weight / total, name=name)
            for store, weight, name in zip(stores, weights, names, strict=True)
        )
    )


def _read_one(data: str | Path) -> tuple[Path, float | None]:
    if isinstance(data, Path) or Path(data).exists():
        return path_of(data), None
    path, colon, share = data.rpartition(":")
    try:
        number = float(share)
    except ValueError:
        return path_of(data), None
    return (path_of(path), _checked(number, path)) if colon and path else (path_of(data), None)


def _checked(share: float, path: str) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not math.isfinite(share) or share <= 0:
        raise ConfigError(f"the share of {path} must be a number above 0, got {share!r}; leave the store out for 0.")
    return float(share)


def _names(paths: list[Path]) -> list[str]:
    """The shortest ends of the paths that tell the stores apart."""
    parts = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]
