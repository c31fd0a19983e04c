"""Run the application: listen, answer until asked to stop, then finish what was taken.

uvicorn does the work, with the protocol of protocol.py. Where threads compute (workers.py) the event loop shares one
interpreter with them, and every time it reads or writes it has to get it back. Python takes it from a thread after 5 ms
by default, which is more than a request may cost under load; here it does after 0.2 ms.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn

from spanwise.errors import ConfigError
from spanwise.serving.guard import Guard
from spanwise.serving.limits import Limits
from spanwise.serving.protocol import KEPT_SECONDS, protocol_of

BACKLOG = 1024
SWITCH_SECONDS = 0.0002  # that a thread keeps the interpreter while another one waits for it


class _Server(uvicorn.Server):
    """Stops at SIGINT and SIGTERM as uvicorn does, and is done then: the signal is not raised again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one. Raises: ConfigError where the address can't be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)  # asyncio sends small answers at once where it is named
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"can't listen at {host}:{port} ({error}). Choose another --port or --host.") from error
    return made


def run(app: Guard, at: socket.socket, limits: Limits, started: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; what was taken is answered first. started: called once requests are taken."""
    server = make_server(app, limits)

    async def serve() -> None:
        waiting = asyncio.create_task(_when_started(server, started)) if started else None
        await server.serve(sockets=[at])
        if waiting is not None:
            waiting.cancel()

    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        asyncio.run(serve())
    finally:
        sys.setswitchinterval(before)


async def _when_started(server: uvicorn.Server, started: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    started()


def make_server(app: Guard, limits: Limits) -> uvicorn.Server:
    """Return a server that runs in any thread; its `should_exit` stops it."""
    config = uvicorn.Config(
        cast(Any, app),
        http=protocol_of(app, limits.sending),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEPT_SECONDS,
        timeout_graceful_shutdown=int(limits.deadline) + 5,
        backlog=BACKLOG,
    )
    return _Server(config)
