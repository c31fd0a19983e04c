"""Lay over packs what a store holds for each token beside its id: tags for masking, and morphemes for words.

A recipe asks for side arrays by name and refuses a store without them; what computed them need not be installed.
In Korean a word between blanks (an eojeol) is a stem with its particles; with `word_unit="morpheme"` each of these is a
word of its own for masking. Letters: T tokens in the pack, S sequences.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.masking.base import MaskingScheme
from spanwise.pretraining.packs import Pack

WordUnit = Literal["word", "morpheme"]
MORPHEMES = "morphemes"  # the side array of morpheme starts: 1 where one begins


def side_arrays_of(masking: MaskingScheme, word_unit: WordUnit) -> tuple[str, ...]:
    """Return the names of the side arrays that a masking scheme and a unit of words ask for."""
    wanted = tuple(getattr(masking, "side_arrays", ()))
    return (*wanted, MORPHEMES) if word_unit == "morpheme" else wanted


def check_side_arrays(store: TokenStore, names: Iterable[str]) -> None:
    """Raises: DataError where the store lacks one of `names`, with the cure."""
    for name in names:
        if name not in store.side_arrays:
            found = ", ".join(store.side_arrays) or "none"
            raise DataError(
                f"the recipe asks for the side array '{name}', and {store.path} has {found}. "
                f"Prepare the text again with `spanwise prepare --tag {name}`."
            )


def with_side_arrays(
    pack: Pack, store: TokenStore, table: BlockTable, rows: np.ndarray, names: Iterable[str], word_unit: WordUnit
) -> Pack:
    """The pack of blocks `rows` [S] with `side[name]` [T] uint8, and with words that start where morphemes do.

    The tokens that a format adds are its special tokens, which are never maskable; all others are the store's.
    Raises: DataError where the format's table does not tell where its text lies.
    """
    starts, lengths = table.text_ranges(rows)
    num_text = int(np.count_nonzero(pack.maskable))
    if lengths.sum() != num_text:
        raise DataError(f"a pack has {num_text} tokens of text, its blocks say {lengths.sum()}: no tags can be laid.")
    side = {}
    for name in names:
        side[name] = np.zeros(len(pack.input_ids), dtype=np.uint8)
        side[name][pack.maskable] = store.gather_side(name, starts, lengths)
    starts_word = pack.starts_word
    if word_unit == "morpheme":
        starts_word = starts_word | (side[MORPHEMES] > 0)
    return replace(pack, side=side, starts_word=starts_word)
