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
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from spanwise.errors import PeerLostError

PATIENCE_SECONDS = 30.0  # a process this long without a sign is called lost
_EVERY_SECONDS = 1.0


class Heartbeat:
    """Signs of life among `size` processes, of which this is number `rank`, for the length of a `with` block.

    `gather` returns what every process gives, by rank, as that of a Group does; it is used before the block alone. A
    lost process ends this one with the exit status of PeerLostError, whatever its other threads wait for.
    """

    def __init__(self, rank: int, size: int, gather: Callable[[Any], list[Any]]) -> None:
        self._rank, self._size, self._patience = rank, size, PATIENCE_SECONDS
        self._ended = threading.Event()
        self._hosts = gather(socket.gethostname())
        others = range(1, size) if rank == 0 else [0]
        self._heard = {rank: (b"", time.monotonic()) for rank in others}  # its last number, and since when
        self._store = self._open_store(gather)
        self._threads = [
            threading.Thread(target=work, name="spanwise-heartbeat", daemon=True) for work in (self._beat, self._mind)
        ]

    def __enter__(self) -> Heartbeat:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * _EVERY_SECONDS)  # the first may wait for a store that doesn't answer

    def _open_store(self, gather: Callable[[Any], list[Any]]) -> Any:
        """The leader keeps a store at a free port of the address where all processes met it; the others connect."""
        from torch.distributed import TCPStore

        address, wait = os.environ["MASTER_ADDR"], timedelta(seconds=self._patience)
        store = None
        if self._rank == 0:
            store = TCPStore(address, 0, is_master=True, wait_for_workers=False, timeout=wait)
        port = gather(store.port if store is not None else 0)[0]
        return store if store is not None else TCPStore(address, port, timeout=wait)

    def _beat(self) -> None:
        """Count up the own number, and read those of the others (the leader) or of the leader."""
        beats = 0
        while not self._ended.wait(_EVERY_SECONDS):
            beats += 1
            try:
                self._store.set(_key(self._rank), str(beats))
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
        who = ", ".join(f"process {rank} of {self._size} on {self._hosts[rank]}" for rank in ranks)
        return (
            f"{who}: no sign of life for {self._patience:.0f} s, so this run can't go on. "
            "Go on from the newest checkpoint with --resume.\n"
        )


def _key(rank: int) -> str:
    return f"beat/{rank}"
