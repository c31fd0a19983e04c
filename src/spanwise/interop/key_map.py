"""Tensor names of one family against ours, in both directions. The tables are data; the walk over them is here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

OLD_NORM_NAMES = {"gamma": "weight", "beta": "bias"}


@dataclass(frozen=True, init=False)
class Line:
    """One of our tensors and the tensor, or the stack of tensors, that files hold for it."""

    ours: str
    theirs: tuple[str, ...]

    def __init__(self, ours: str, *theirs: str) -> None:
        object.__setattr__(self, "ours", ours)
        object.__setattr__(self, "theirs", theirs)


@dataclass(frozen=True)
class Translated:
    """A file's tensors in our names, and what did not fit.

    `missing` are their names that a part needs but the file lacks; a head that is wholly absent is not missing here.
    """

    encoder: dict[str, Tensor]
    heads: dict[str, dict[str, Tensor]]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    untied: tuple[str, ...] = ()
    source_names: dict[str, str] = field(default_factory=dict)  # canonical name -> the name in the file


@dataclass(frozen=True, kw_only=True)
class KeyMap:
    """Lines of the encoder, its pooler and every head, with what a reader must forgive."""

    encoder: tuple[Line, ...]
    pooler: tuple[Line, ...]
    heads: Mapping[str, tuple[Line, ...]]
    copies: Mapping[str, str]
    buffers: frozenset[str]
    root: str  # prefix that a bare encoder class leaves out
    optional_prefix: str  # prefix that some training code puts before everything

    def canonical(self, name: str) -> str:
        """The name as the table spells it: one optional prefix off, root prefix on, `weight` and `bias` for norms."""
        name = name.removeprefix(self.optional_prefix)
        name = re.sub(r"\.(gamma|beta)$", lambda match: "." + OLD_NORM_NAMES[match[1]], name)
        return self.root + name if name.startswith(("embeddings.", "encoder.", "pooler.")) else name

    def to_ours(self, tensors: Mapping[str, Tensor]) -> Translated:
        """Translate a file."""
        source_names = {self.canonical(name): name for name in tensors}
        left = {name: tensors[source] for name, source in source_names.items()}
        untied = tuple(
            source_names[copy]
            for copy, original in self.copies.items()
            if copy in left and original in left and not torch.equal(left[copy], left[original])
        )
        for copy, original in self.copies.items():
            if copy in left and original in left:
                del left[copy]
        for name in self.buffers & left.keys():
            del left[name]

        missing: list[str] = []
        encoder = self._take(self.encoder, left, missing)
        encoder |= self._take_if_any(self.pooler, left, missing)
        heads = {name: self._take_if_any(lines, left, missing) for name, lines in self.heads.items()}
        return Translated(
            encoder=encoder,
            heads={name: taken for name, taken in heads.items() if taken},
            missing=tuple(missing),
            unexpected=tuple(source_names[name] for name in left),
            untied=untied,
            source_names=source_names,
        )

    def encoder_to_theirs(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their names for our encoder's tensors, without the pooler."""
        return self._give(self.encoder, tensors)

    def pooler_to_theirs(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self._give(self.pooler, tensors)

    def head_to_theirs(self, head: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their names for the tensors of one head."""
        return self._give(self.heads[head], tensors)

    def without_root(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The names that the bare encoder class uses."""
        return {name.removeprefix(self.root): tensor for name, tensor in tensors.items()}

    def _take(self, lines: tuple[Line, ...], left: dict[str, Tensor], missing: list[str]) -> dict[str, Tensor]:
        taken = {}
        for line in lines:
            names = [self.canonical(name) for name in line.theirs]
            absent = [name for name in names if name not in left]
            missing += absent
            parts = [left.pop(name) for name in names if name in left]
            if not absent:
                taken[line.ours] = parts[0] if len(parts) == 1 else _stack(parts)
        return taken

    def _take_if_any(self, lines: tuple[Line, ...], left: dict[str, Tensor], missing: list[str]) -> dict[str, Tensor]:
        present = any(self.canonical(name) in left for line in lines for name in line.theirs)
        return self._take(lines, left, missing) if present else {}

    @staticmethod
    def _give(lines: tuple[Line, ...], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        given: dict[str, Tensor] = {}
        for line in lines:
            parts = tensors[line.ours].chunk(len(line.theirs))
            given |= {name: part.contiguous() for name, part in zip(line.theirs, parts, strict=True)}
        return given


def _stack(parts: list[Tensor]) -> Tensor:
    """Join along the rows. Parts whose other sizes differ come back as they are, for the shape check to name."""
    if len({part.shape[1:] for part in parts}) > 1 or any(part.ndim == 0 for part in parts):
        return parts[0]
    return torch.cat(parts)
