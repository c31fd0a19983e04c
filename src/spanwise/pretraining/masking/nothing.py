"""Nothing is hidden, nothing is replaced: for objectives that read the text as it stands (GPT-1).

Source: Radford et al. 2018 (GPT-1), section 3.1. Letters: T tokens, S sequences.
"""

from typing import ClassVar

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.packs import Pack, Spans


@part("no_masking")
class NoMasking:
    """Choose no token. Goes with `NoReplacement`."""

    gives: ClassVar[frozenset[str]] = frozenset({"whole_text"})

    @property
    def ratio(self) -> float:
        return 0.0

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return no span."""
        none = np.zeros(0, dtype=np.int64)
        return Spans(sequence=none, start=none, end=none)


@part("no_replacement")
class NoReplacement:
    """Leave every token as it is; a tokenizer without [MASK] will do."""

    def random_ids(self, vocabulary: Vocabulary) -> None:
        """No token is ever drawn."""

    def apply(
        self, pack: Pack, spans: Spans, keys: np.ndarray, vocabulary: Vocabulary, law: AliasTable | None = None
    ) -> np.ndarray:
        """Return a copy of input_ids [T]."""
        return pack.input_ids.copy()
