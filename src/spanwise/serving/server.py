"""Run the application: listen, answer until asked to stop, then finish what was taken.

uvicorn does the work, with the HTTP parser of httptools, which is written in C: the event loop shares one lock with the
thread that feeds the model. Neither knows a limit for a request's header, so that clients which send theirs slowly or
without end would keep connections and memory; the protocol here has both.
"""

import asyncio
import contextlib
import logging
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from spanwise.errors import ConfigError
from spanwise.serving.guard import Guard
from spanwise.serving.limits import Limits

BACKLOG = 1024
MOST_HEADER_BYTES = 65_536
OFFER = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


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


def _protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with limits for headers: a time from the first byte behind the last request on, and a
    size."""

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._header_bytes, self._is_in_header = 0, True
            self._header_timer: asyncio.TimerHandle | None = self.loop.call_later(seconds, self._close)

        def data_received(self, data: bytes) -> None:
            super().data_received(_without_offer(data) if self._is_in_header else data)
            if self._is_in_header:
                self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._close()
            elif self.cycle is not None and not self.cycle.response_complete:
                self._stop_timer()
            elif self._header_timer is None:  # the next header, or what is left of a body that was refused
                self._header_timer = self.loop.call_later(seconds, self._close)

        def on_headers_complete(self) -> None:
            self._header_bytes, self._is_in_header = 0, False
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._is_in_header = True
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _unsupported_upgrade_warning(self) -> None:
            """An offer that came in two pieces: the request is answered, and no more are read."""
            self.cycle.keep_alive = False

        def _stop_timer(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def _close(self) -> None:
            self._header_timer = None
            if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
                self.transport.close()

    return Limited


def _without_offer(data: bytes) -> bytes:
    """Return the beginning of a request with its offer of another protocol under a name that means none: the parser
    takes what follows an offer for that protocol, while HTTP lets a server go on (Java's client offers h2c always)."""
    end = data.find(b"\r\n\r\n")
    end = len(data) if end < 0 else end
    return OFFER.sub(b"\r\nx-upgrade:", data[:end]) + data[end:]


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one. Raises: ConfigError where the address can't be had."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind)
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

    asyncio.run(serve())


async def _when_started(server: uvicorn.Server, started: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    started()


def make_server(app: Guard, limits: Limits) -> uvicorn.Server:
    """Return a server that runs in any thread; its `should_exit` stops it."""
    config = uvicorn.Config(
        cast(Any, app),
        http=_protocol(limits.sending),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.deadline) + 5,
        backlog=BACKLOG,
    )
    return _Server(config)
