"""Short sequences first: the batches of a run whose sequences grow once.

Source: Devlin et al. 2019, appendix A.2 (sequences of 128 for nine steps in ten, then of 512); Li et al. 2022, "The
stability-efficiency dilemma" (sequence length warm-up).
Differs: the change comes after a number of steps, not a share of them, because a budget of time has no number of steps;
the text begins anew with it, in another order; what is cut off a short sequence is a sequence of its own, not lost.
"""

from typing import Annotated, Protocol

from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Room
from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.mixtures.steps import Position
from spanwise.training.plan import MOST_STEPS, TrainingOptions, count_steps


@part("length_warmup")
class LengthWarmup:
    """The first `steps` steps have sequences of at most `max_length` tokens (with specials), all others the format's.

    A step has as many tokens as ever (unless `batch.max_sequences` closes its packs sooner), so it has more sequences.
    """

    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] = 0  # 0: none
    max_length: Room = 64


class Source(Protocol):
    """The source that a run takes its steps from."""

    @property
    def tables(self) -> list[tuple[BlockTable, float]]: ...

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]: ...

    def masked_step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Masked]: ...

    def position(self, index: int) -> Position: ...


class GrowingSource:
    """A `BatchSource`: the first `steps` steps of `short`, then `usual` from its beginning.

    As with its two sources, a step is a function of its index alone, so a run goes on at any step.

    Raises: ConfigError where `options` end the run within the first steps.
    """

    def __init__(self, short: Source, usual: Source, steps: int, options: TrainingOptions) -> None:
        self._short, self._usual, self._steps = short, usual, steps
        total = count_steps(options, self)
        if total is not None and total <= steps:
            raise ConfigError(
                f"length_warmup.steps {steps:,} leaves nothing of a run of {total:,} steps, so no sequence would have "
                "the format's length; lower it, or format.max_length."
            )
        self._short_share = steps / total if total else 0.0

    @property
    def tables(self) -> list[tuple[BlockTable, float]]:
        """The blocks of both lengths with their shares of the tokens; under a budget of time, which has no number of
        steps, those of the longer alone."""
        if not self._short_share:
            return self._usual.tables
        parts = (self._short, self._short_share), (self._usual, 1.0 - self._short_share)
        return [(table, of_source * share) for source, share in parts for table, of_source in source.tables]

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """Return the packs of one step, or of several processes' shares the one of process `rank`."""
        source, index = self._locate(index)
        return source.step(index, rank, num_ranks)

    def masked_step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Masked]:
        """Return the packs of one step before they become tensors."""
        source, index = self._locate(index)
        return source.masked_step(index, rank, num_ranks)

    def position(self, index: int) -> Position:
        """Return where step `index` begins: epochs and tokens passed, those of short sequences included."""
        if index <= self._steps:
            return self._short.position(index)
        return _sum(self._short.position(self._steps), self._usual.position(index - self._steps))

    def _locate(self, index: int) -> tuple[Source, int]:
        return (self._short, index) if index < self._steps else (self._usual, index - self._steps)


def _sum(one: Position, other: Position) -> Position:
    """Return numbers of the same name added up, in inner dictionaries too."""
    total: Position = {}
    for name, value in one.items():
        more = other[name]
        if isinstance(value, dict) and isinstance(more, dict):
            total[name] = {store: passed + more[store] for store, passed in value.items()}
        elif not isinstance(value, dict) and not isinstance(more, dict):
            total[name] = value + more
    return total
