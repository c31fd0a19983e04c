"""A masking, a format and a corruption of one's own, each in a recipe: `spanwise pretrain my_parts.py:one_run ...`"""

from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from spanwise import recipes
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pieces import Frame, assemble, one_piece_each
from spanwise.pretraining.formats.sentences import units_of
from spanwise.pretraining.masking import Replacement
from spanwise.pretraining.masking.base import budgets
from spanwise.pretraining.objectives import MaskedLM, ReplacedToken
from spanwise.pretraining.objectives.base import Corrupted
from spanwise.pretraining.packs import Spans


@dataclass(frozen=True, kw_only=True)
class OneRun:
    """A masking: hide one run of tokens in each sequence, at a place that the sequence's own key decides."""

    ratio: float = 0.15

    def select(self, pack, keys, *, capacity=None):
        num_tokens = np.diff(pack.borders) - 2  # all but [CLS] and [SEP]
        lengths = budgets(self.ratio, num_tokens)
        starts = pack.borders[:-1] + 1 + (keys % (num_tokens - lengths + 1).astype(np.uint64)).astype(np.int64)
        return Spans(sequence=np.arange(len(starts)), start=starts, end=starts + lengths)


@dataclass(frozen=True, kw_only=True)
class OneSentence:
    """A format: every sentence is a sequence of its own, [CLS] sentence [SEP]; over-long ones are cut."""

    gives = frozenset()  # words that objectives may ask for, such as "pair_label"
    changes_with_epoch = False
    max_length: int = 128

    def blocks(self, store, seed=0, epoch=0):
        units = units_of(store, self.max_length - 2)
        return BlockTable(starts=units.starts, lengths=units.lengths, num_special=2)

    def assemble(self, store, table, rows):
        return assemble(store, one_piece_each(table.starts[rows], table.lengths[rows]), rows, Frame(), None)


class DrawnTokens(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.vocab_size = vocab_size

    def forward(self, batch):
        hidden, uniform = batch.targets["mlm"], batch.targets["sampling"].uniform
        drawn = (uniform * self.vocab_size).long()
        return Corrupted(
            input_ids=hidden.written(drawn, batch.input_ids),
            original_ids=hidden.written(hidden.ids, batch.input_ids),
        )


@dataclass(frozen=True, kw_only=True)
class RandomTokens:
    """A corruption: any token of the vocabulary stands at each hidden place, as if ELECTRA's generator knew nothing."""

    gives = frozenset({"replacements"})  # what "rtd" asks for
    samples = True  # asks for a random number for each hidden token
    objectives = {}  # noqa: RUF012  it learns nothing itself

    def check(self, encoder):
        """Every encoder will do."""

    def build(self, encoder):
        return DrawnTokens(encoder.config.vocab_size)


def one_run():
    return replace(recipes.spanbert_mini(), name="one-run", masking=OneRun())


def one_sentence():
    return replace(recipes.spanbert_mini(), name="one-sentence", format=OneSentence())


def random_tokens():
    both = {"mlm": MaskedLM(), "rtd": ReplacedToken()}
    all_masked = Replacement(mask=1.0, random=0.0, keep=0.0)
    mini = recipes.spanbert_mini()
    return replace(mini, name="random-tokens", corruption=RandomTokens(), objectives=both, replacement=all_masked)
