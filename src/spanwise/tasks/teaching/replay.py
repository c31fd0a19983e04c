"""Old data among the new: a share of every epoch is drawn from files that the model learned from before.

Source: experience replay, as in Robins 1995 and de Masson d'Autume et al. 2019, by a fixed share of the examples.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.errors import ConfigError
from spanwise.tasks.batches import Features, OfEpoch, Shown

OLD = 1 << 20  # added to the seed of the order in which old examples come


OLD_SEQUENCES = 1 << 60  # added to the numbers of old sequences, so that they draw nothing that new ones draw


def _made_old(make: Callable[[], Batch]) -> Batch:
    batch = make()
    ids = batch.sequence_ids or batch.ids
    return dataclasses.replace(batch, sequence_ids=tuple(OLD_SEQUENCES + number for number in ids))


def check_replay_share(usual: float, share: float, *, has_replay: bool) -> None:
    """Refuse a share of old examples where no file of them is given. Raises: ConfigError."""
    if share != usual and not has_replay:
        raise ConfigError(
            f"replay_share={share} is the share of old examples, and no file of them is given; name one with --replay "
            "(in Python, replay=)."
        )


class ReplayBatches:
    """The steps of fine-tuning on all W new examples and so many old ones that they are `share` of an epoch.

    Old examples come in a shuffled order, each once before any comes again. Every step is a pure function of its index,
    as in `EpochBatches`; new and old examples of a step lie in packs of their own.
    """

    def __init__(
        self, new: Features, old: Features, *, share: float, batch_size: int, pack_tokens: int, seed: int
    ) -> None:
        self.batch_size, self.pack_tokens, self.seed = batch_size, pack_tokens, seed
        self._new, self._old = new, old
        self.num_old = max(1, round(len(new) * share / (1 - share)))  # of an epoch
        self.steps_per_epoch = -(-(len(new) + self.num_old) // batch_size)
        self._of_epoch = OfEpoch(self._laid_out)

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of step `index`, counted from 0 over all epochs, or of several processes' shares that of `rank`."""
        epoch, place = divmod(index, self.steps_per_epoch)
        new, old, order, old_rows = self._of_epoch(epoch)
        rows = order[place * self.batch_size : (place + 1) * self.batch_size]
        is_new = rows < len(self._new)
        old_packs = old.packs(old_rows[rows[~is_new] - len(self._new)], self.pack_tokens)
        makers: list[Callable[[], Batch]] = [
            *new.packs(rows[is_new], self.pack_tokens),
            *(functools.partial(_made_old, make) for make in old_packs),
        ]
        return [make() for make in makers[rank::num_ranks]]

    def position(self, index: int) -> dict[str, float]:
        return {"epoch": index / self.steps_per_epoch}

    def _laid_out(self, epoch: int) -> tuple[Shown, Shown, np.ndarray, np.ndarray]:
        """Return the features of an epoch, new and old, the order of its examples, and which the old ones are."""
        order = permutation(self.seed, epoch, len(self._new) + self.num_old)
        new, old = (Shown.of(given, epoch, self.seed) for given in (self._new, self._old))
        turns, places = np.divmod(epoch * self.num_old + np.arange(self.num_old), len(self._old))
        rows = [
            permutation(self.seed + OLD, int(turn), len(self._old))[places[turns == turn]] for turn in np.unique(turns)
        ]
        return new, old, order, np.concatenate(rows)
