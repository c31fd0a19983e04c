"""Show people what a format makes of a store: real sequences with special tokens and labels, and what was lost.

Letters: n blocks, S sequences shown.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spanwise.data.order import permutation
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.formats import FORMATS, NO_LABEL, BlockTable, InputFormat
from spanwise.pretraining.formats.checked import pack_of, table_of
from spanwise.pretraining.packs import Pack
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Neighbouring special tokens, or a stretch of text between them."""

    text: str
    is_special: bool
    segment: int  # how many stretches of text come before it in its sequence
    num_tokens: int


@dataclass(frozen=True, kw_only=True)
class Example:
    """One sequence as an encoder reads it before masking."""

    block: int
    tokens: list[str]
    token_type_ids: list[int]
    label: int | None  # None where the format has no labels or this sequence has none
    label_name: str | None
    stretches: list[Stretch]


@dataclass(frozen=True, kw_only=True)
class FormatExamples:
    """Some sequences of an epoch, and numbers about all of them."""

    num_blocks: int
    mean_tokens: float  # of a sequence, special tokens included
    longest: int
    num_tokens_dropped: int
    num_tokens_repeated: int
    labels: dict[str, int]  # how many blocks have each; empty where the format has none
    examples: list[Example]


def find_format(name: str) -> type[InputFormat]:
    """Return the format of a part's name (`sentence_pair`, `sentence-pair`) or class (`SentencePair`).

    Raises: ConfigError with the nearest name.
    """
    by_name: dict[str, type[InputFormat]] = {vars(kind)["part_name"]: kind for kind in FORMATS}
    by_class = {kind.__name__: kind for kind in FORMATS}
    found = by_name.get(name.replace("-", "_")) or by_class.get(name)
    if found is None:
        names = [name.replace("_", "-") for name in by_name]
        raise ConfigError(f"there is no format '{name}'; there are {', '.join(names)}.{did_you_mean(name, names)}")
    return found


def format_examples(
    store: TokenStore, part: InputFormat, tokenizer: Tokenizer, *, count: int, seed: int = 0, epoch: int = 0
) -> FormatExamples:
    """Return the first `count` sequences that a run with this seed reads in an epoch.

    Raises: DataError, ConfigError as the format does.
    """
    table = table_of(part, store, seed, epoch)
    rows_S = permutation(seed, epoch, table.num_blocks)[:count]
    pack = pack_of(part, store, table, rows_S)
    names = getattr(part, "label_names", ("0", "1"))
    lengths_n = table.packed_lengths
    return FormatExamples(
        num_blocks=table.num_blocks,
        mean_tokens=float(lengths_n.mean()) if table.num_blocks else 0.0,
        longest=int(lengths_n.max(initial=0)),
        num_tokens_dropped=table.num_tokens_dropped,
        num_tokens_repeated=table.num_tokens_repeated,
        labels=_count_labels(table, names),
        examples=[_example(pack, sequence, tokenizer, names) for sequence in range(len(rows_S))],
    )


def _count_labels(table: BlockTable, names: tuple[str, str]) -> dict[str, int]:
    if table.pair_labels is None:
        return {}
    counts = {name: int(np.count_nonzero(table.pair_labels == label)) for label, name in enumerate(names)}
    without = int(np.count_nonzero(table.pair_labels == NO_LABEL))
    return {**counts, **({"no label": without} if without else {})}


def _example(pack: Pack, sequence: int, tokenizer: Tokenizer, names: tuple[str, str]) -> Example:
    inside = slice(int(pack.borders[sequence]), int(pack.borders[sequence + 1]))
    ids, is_text = pack.input_ids[inside], pack.maskable[inside]
    label = None if pack.pair_labels is None else int(pack.pair_labels[sequence])
    label = None if label == NO_LABEL else label
    edges = [0, *(np.flatnonzero(np.diff(is_text)) + 1).tolist(), len(ids)]
    stretches: list[Stretch] = []
    for first, last in pairwise(edges):
        segment = sum(not stretch.is_special for stretch in stretches)
        special = not is_text[first]
        text = " ".join(tokenizer.tokens(ids[first:last])) if special else tokenizer.decode(ids[first:last])
        stretches.append(Stretch(text=text, is_special=special, segment=segment, num_tokens=last - first))
    return Example(
        block=int(pack.block_ids[sequence]),
        tokens=tokenizer.tokens(ids),
        token_type_ids=pack.token_type_ids[inside].tolist(),
        label=label,
        label_name=None if label is None else names[label],
        stretches=stretches,
    )
