"""Processes of a run tell each other that they are alive, so that one that hangs does not hold all others for ever.

A process that dies on this machine closes its connections, and the others notice at once. One that is stopped, or whose
host has lost its network, says nothing at all: the others would wait in a sum of gradients for half an hour. So every
process counts up a number in a store that the first one keeps, in a thread of its own; the first one names a process
whose number stands still, and leaves, and the others leave once the store is silent. Checkpoints are whole or not there
at any moment, so nothing is lost by it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from spanwise.errors import PeerLostError

if TYPE_CHECKING:  # which starts a heartbeat for every group
    from spanwise.runtime.distributed import Group

PATIENCE_SECONDS = 30.0  # a process this long without a sign is called lost
_EVERY_SECONDS = 1.0


class Heartbeat:
    """Signs of life among the processes of `group`, for the length of a `with` block.

    A lost process ends this one with the exit status of PeerLostError, whatever its other threads wait for.
    """

    def __init__(self, group: Group) -> None:
        self._world, self._patience = group.world, PATIENCE_SECONDS
        self._ended = threading.Event()
        self._hosts = group.gather(socket.gethostname())
        others = range(1, self._world.size) if self._world.is_leader else [0]
        self._heard = {rank: (b"", time.monotonic()) for rank in others}  # its last number, and since when
        self._store = self._open_store(group)
        self._threads = [
            threading.Thread(target=target, name="spanwise-heartbeat", daemon=True) for target in (self._beat, self._mind)
        ]

    def __enter__(self) -> Heartbeat:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * _EVERY_SECONDS)  # the first may wait for a store that doesn't answer

    def _open_store(self, group: Group) -> Any:
        """The leader keeps a store at a free port of the address where all processes met it; the others connect."""
        from torch.distributed import TCPStore

        address, wait = os.environ["MASTER_ADDR"], timedelta(seconds=self._patience)
        store = None
        if self._world.is_leader:
            store = TCPStore(address, 0, is_master=True, wait_for_workers=False, timeout=wait)
        port = group.gather(store.port if store is not None else 0)[0]
        return store if store is not None else TCPStore(address, port, timeout=wait)

    def _beat(self) -> None:
        """Count up the own number, and read those of the others (the leader) or of the leader."""
        beats = 0
        while not self._ended.wait(_EVERY_SECONDS):
            beats += 1
            try:
                self._store.set(_key(self._world.rank), str(beats))
                for rank, (before, _) in list(self._heard.items()):
                    value = self._store.get(_key(rank)) if self._store.check([_key(rank)]) else b""
                    if value != before:
                        self._heard[rank] = value, time.monotonic()
            except RuntimeError:  # the leader has gone, or leaves just now as this one does
                return

    def _mind(self) -> None:
        """Leave once a number has stood still for too long. The other thread may hang in a question to the store."""
        while not self._ended.wait(_EVERY_SECONDS):
            now = time.monotonic()
            silent = [rank for rank, (_, since) in self._heard.items() if now - since > self._patience]
            if silent:
                sys.stderr.write(self._words(silent))
                sys.stderr.flush()
                os._exit(PeerLostError.exit_status)

    def _words(self, ranks: Sequence[int]) -> str:
        who = ", ".join(f"process {rank} of {self._world.size} on {self._hosts[rank]}" for rank in ranks)
        return (
            f"{who}: no sign of life for {self._patience:.0f} s, so this run can't go on. "
            "Go on from the newest checkpoint with --resume.\n"
        )


def _key(rank: int) -> str:
    return f"beat/{rank}"
