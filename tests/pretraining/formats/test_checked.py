"""What a format of a user's own returns is looked at before tokens are copied by it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.formats.checked import pack_of, table_of


@dataclass(frozen=True)
class Mine:
    changes: dict
    max_length: int = 16

    def blocks(self, store, seed, epoch):
        table = SingleSegment(max_length=self.max_length).blocks(store, seed, epoch)
        return replace(table, **self.changes) if self.changes is not None else [table]

    def assemble(self, store, table, rows):
        return None


def test_blocks_that_fit_the_store_are_let_through(store):
    table = table_of(Mine({}), store, 0, 0)
    assert table.num_blocks
    assert pack_of(SingleSegment(max_length=16), store, table, np.arange(1)).input_ids.size


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (None, "format Mine: blocks returned list; expected formats.base.BlockTable"),
        ({"starts": np.array([10**7]), "lengths": np.array([3])}, "a range of 3 tokens at 10000000; the store has"),
        ({"starts": np.array([-1]), "lengths": np.array([3])}, "a range of 3 tokens at -1"),
        ({"starts": np.array([0]), "lengths": np.array([20])}, "a sequence of 22 tokens, .* its max_length is 16"),
    ],
)
def test_blocks_that_can_not_be_read_are_named(store, changes, message):
    with pytest.raises(ConfigError, match=message):
        table_of(Mine(changes), store, 0, 0)


def test_what_is_no_pack_is_named(store):
    mine = Mine({})
    with pytest.raises(ConfigError, match="format Mine: assemble returned NoneType; expected"):
        pack_of(mine, store, table_of(mine, store, 0, 0), np.arange(1))
