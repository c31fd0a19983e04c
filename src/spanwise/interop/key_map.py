"""Tensor names of one family against ours, in both directions. The tables are data; the walk over them is here."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from spanwise.nn.config import EncoderConfig

OLD_NORM_NAMES = {"gamma": "weight", "beta": "bias"}
SHARED_PARTS = {"none": (), "all": ("attention", "feed_forward"), "attention": ("attention",)}
SHARED_PARTS |= {"feed_forward": ("feed_forward",)}


@dataclass(frozen=True, init=False)
class Line:
    """One of our tensors and the tensor, or the stack of tensors, that files hold for it."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool

    def __init__(self, ours: str, *theirs: str, transposed: bool = False) -> None:
        object.__setattr__(self, "ours", ours)
        object.__setattr__(self, "theirs", theirs)
        object.__setattr__(self, "transposed", transposed)


def linear(ours: str, theirs: str) -> tuple[Line, Line]:
    """Return weight and bias of a linear layer or LayerNorm; `ours` may be "" for a head that is one."""
    front = f"{ours}." if ours else ""
    return Line(f"{front}weight", f"{theirs}.weight"), Line(f"{front}bias", f"{theirs}.bias")


@dataclass(frozen=True)
class LayerPart:
    """A linear layer or LayerNorm within one layer: our name below `layers.{i}.`, theirs below their layer's prefix."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False  # whether files hold the matrix with inputs as rows

    def lines(self, ours: str, theirs: str) -> tuple[Line, Line]:
        """Return weight and bias of this part in one layer."""
        weight, bias = (
            Line(
                f"{ours}.{self.ours}.{kind}",
                *(f"{theirs}.{name}.{kind}" for name in self.theirs),
                transposed=self.transposed and kind == "weight",
            )
            for kind in ("weight", "bias")
        )
        return weight, bias


def layer_lines(
    config: EncoderConfig, parts: Iterable[LayerPart], place: Callable[[int], str]
) -> tuple[tuple[Line, ...], dict[str, str]]:
    """Return the lines of all layers, and the tensors that files repeat because our layers share them.

    place: the prefix of layer i in files. Where several layers have one place (ALBERT's groups), the file holds their
    tensors once.
    """
    lines: list[Line] = []
    repeats: dict[str, str] = {}
    shared = SHARED_PARTS[config.sharing]
    for part in parts:
        first = part.lines("layers.0", place(0))
        lines += first
        for i in range(1, config.num_layers):
            own = part.lines(f"layers.{i}", place(i))
            if not part.ours.startswith(shared):
                lines += own
            elif place(i) != place(0):
                for line, original in zip(own, first, strict=True):
                    repeats |= dict(zip(line.theirs, original.theirs, strict=True))
    return tuple(lines), repeats


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
    """Lines of the encoder, its pooler and every head, with what a reader must forgive and a writer must add."""

    encoder: tuple[Line, ...]
    pooler: tuple[Line, ...]
    heads: Mapping[str, tuple[Line, ...]]
    copies: Mapping[str, str]  # tied or derived tensors that some files carry -> the tensor that they repeat
    buffers: frozenset[str]  # counted up, not learned
    root: str  # prefix that a bare encoder class leaves out
    bare: tuple[str, ...]  # how names begin that have lost this prefix
    repeats: Mapping[str, str] = field(default_factory=dict)  # as `copies`, but files of the family always hold them
    fillers: Mapping[str, Tensor] = field(default_factory=dict)  # what the family has and our encoder does without
    optional_prefixes: tuple[str, ...] = ("module.", "decoder.")

    def canonical(self, name: str) -> str:
        """Return the name as the table spells it: optional prefixes off, root prefix on, `weight` and `bias` for
        norms."""
        for prefix in self.optional_prefixes:
            name = name.removeprefix(prefix)
        name = re.sub(r"\.(gamma|beta)$", lambda match: "." + OLD_NORM_NAMES[match[1]], name)
        return self.root + name if name.startswith(self.bare) else name

    def ambiguous_heads(self) -> frozenset[str]:
        """Return the heads that have a name in common with another: only the class that a folder names tells which is
        meant."""
        counts = Counter(name for lines in self.heads.values() for line in lines for name in line.theirs)
        return frozenset(
            head for head, lines in self.heads.items() if any(counts[n] > 1 for line in lines for n in line.theirs)
        )

    def to_ours(self, tensors: Mapping[str, Tensor], heads_of_class: Collection[str] = ()) -> Translated:
        """Translate a file. `heads_of_class`: the heads that the class named by the folder has."""
        source_names = {self.canonical(name): name for name in tensors}
        left = {name: tensors[source] for name, source in source_names.items()}
        untied = []
        for copy, original in (*self.copies.items(), *self.repeats.items()):
            if copy not in left:
                continue
            tensor = left.pop(copy)
            if original not in left:  # the file holds the copy alone
                left[original], source_names[original] = tensor, source_names[copy]
            elif not torch.equal(tensor, left[original]):
                untied.append(source_names[copy])
        for name in self.buffers & left.keys():
            del left[name]

        found = _Taker(self, left)
        encoder = found.take(self.encoder)
        encoder |= found.take_if_any(self.pooler)
        ambiguous = self.ambiguous_heads() - set(heads_of_class)
        heads = {
            name: found.take_if_any(lines)
            for name, lines in sorted(self.heads.items(), key=lambda item: item[0] not in heads_of_class)
            if name not in ambiguous
        }
        for name, filler in self.fillers.items():
            if name in left and torch.equal(left[name], filler.to(left[name].dtype)):
                found.used.add(name)
        return Translated(
            encoder=encoder,
            heads={name: taken for name, taken in heads.items() if taken},
            missing=tuple(found.missing),
            unexpected=tuple(source_names[name] for name in left if name not in found.used),
            untied=tuple(untied),
            source_names=source_names,
        )

    def encoder_to_theirs(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return our encoder's tensors under their names, without the pooler."""
        given = self.give(self.encoder, tensors)
        given |= {copy: given[original].clone() for copy, original in self.repeats.items()}
        return given | {name: filler.clone() for name, filler in self.fillers.items()}

    def without_root(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors under the names that the bare encoder class uses."""
        return {name.removeprefix(self.root): tensor for name, tensor in tensors.items()}

    @staticmethod
    def give(lines: Iterable[Line], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of some lines under their names."""
        given: dict[str, Tensor] = {}
        for line in lines:
            parts = tensors[line.ours].chunk(len(line.theirs))
            if line.transposed:
                parts = tuple(part.t() for part in parts)
            given |= {name: part.contiguous() for name, part in zip(line.theirs, parts, strict=True)}
        return given


class _Taker:
    """Takes lines out of a file's tensors and remembers which were used and which were missed."""

    def __init__(self, key_map: KeyMap, left: Mapping[str, Tensor]) -> None:
        self.key_map, self.left = key_map, left
        self.used: set[str] = set()
        self.missing: list[str] = []

    def take(self, lines: Iterable[Line]) -> dict[str, Tensor]:
        taken = {}
        for line in lines:
            names = [self.key_map.canonical(name) for name in line.theirs]
            absent = [name for name in names if name not in self.left]
            self.missing += absent
            parts = [self.left[name] for name in names if name in self.left]
            self.used.update(names)
            if not absent:
                parts = [part.t() if line.transposed and part.ndim == 2 else part for part in parts]
                taken[line.ours] = parts[0] if len(parts) == 1 else _stack(parts)
        return taken

    def take_if_any(self, lines: Iterable[Line]) -> dict[str, Tensor]:
        lines = tuple(lines)
        present = any(self.key_map.canonical(name) in self.left for line in lines for name in line.theirs)
        return self.take(lines) if present else {}


def _stack(parts: list[Tensor]) -> Tensor:
    """Join along the rows. Parts whose other sizes differ come back as they are, for the shape check to name."""
    if len({part.shape[1:] for part in parts}) > 1 or any(part.ndim == 0 for part in parts):
        return parts[0]
    return torch.cat(parts)
