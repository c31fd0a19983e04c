"""Old data among the new: a share of every epoch is drawn from files that the model learned from before.

Source: experience replay, as in Robins 1995 and de Masson d'Autume et al. 2019, by a fixed share of the examples.
"""

from collections.abc import Callable

import numpy as np

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.errors import ConfigError
from spanwise.tasks.batches import ChangesWithEpoch, Features, packs_of

OLD = 1 << 20  # added to the seed of the order in which old examples come


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

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of step `index`, counted from 0 over all epochs, or of several processes' shares that of `rank`."""
        epoch, place = divmod(index, self.steps_per_epoch)
        order = permutation(self.seed, epoch, len(self._new) + self.num_old)
        rows = order[place * self.batch_size : (place + 1) * self.batch_size]
        is_new = rows < len(self._new)
        old = np.array([self._old_row(epoch * self.num_old + row - len(self._new)) for row in rows[~is_new]], np.int64)
        makers = [
            *self._packs(self._new, rows[is_new], epoch),
            *self._packs(self._old, old, epoch),
        ]
        return [make() for make in makers[rank::num_ranks]]

    def position(self, index: int) -> dict[str, float]:
        return {"epoch": index / self.steps_per_epoch}

    def _old_row(self, place: int) -> int:
        turn, place = divmod(int(place), len(self._old))
        return int(permutation(self.seed + OLD, turn, len(self._old))[place])

    def _packs(self, given: Features, rows: np.ndarray, epoch: int) -> list[Callable[[], Batch]]:
        features = given.at_epoch(epoch, self.seed) if isinstance(given, ChangesWithEpoch) else given
        return packs_of(features, rows, self.pack_tokens)
