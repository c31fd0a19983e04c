"""Steps that were begun and whose numbers nobody has read: they are read in groups, so that a GPU never runs dry.

On a CPU a step is finished when it was begun, and numbers are read where a log line needs them. On a GPU the host is
some steps ahead, and reads the numbers of a log line once as many steps more lie in the queue. Which steps are read
when is a function of step numbers alone, so that several processes agree on it.
"""

from collections import deque
from dataclasses import dataclass

import torch

from spanwise.training.step import Begun

STEPS_AHEAD = 4  # of a GPU: enough for the host to write a log line meanwhile
MOST_UNREAD = 16  # so that a bad step is known soon; their packs are kept to name the one to blame


@dataclass(frozen=True)
class Unread:
    """A step, and what its log line says that is known beforehand; None where it has no line."""

    begun: Begun
    learning_rate: float | None
    total_steps: int


class UnreadSteps:
    """The steps that were begun and not read, in order."""

    def __init__(self, device: torch.device) -> None:
        self._ahead = STEPS_AHEAD if device.type == "cuda" else 0
        self._steps: deque[Unread] = deque()

    def add(self, step: Unread) -> None:
        self._steps.append(step)

    def take_due(self) -> list[Unread]:
        """Take the steps up to the newest log line that lies as many steps back as the host may be ahead, or as many as
        that where too many have gathered."""
        old = list(self._steps)[: max(0, len(self._steps) - self._ahead)]
        count = max((number for number, one in enumerate(old, 1) if one.learning_rate is not None), default=0)
        return self._take(len(old) if len(self._steps) > MOST_UNREAD else count)

    def take_all(self) -> list[Unread]:
        """Take every step, at the price of waiting for the device."""
        return self._take(len(self._steps))

    def _take(self, count: int) -> list[Unread]:
        return [self._steps.popleft() for _ in range(count)]
