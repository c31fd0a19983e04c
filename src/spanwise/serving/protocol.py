"""HTTP as uvicorn reads it, with the parser of httptools (C), and with what uvicorn lacks: limits, and cheap refusals.

A server with more to do than it can has to say so at a small share of the price of an answer, or it has no time left
for answers. So a request that its header alone decides (`Guard.refusal`: no room, no key, too large) is answered here
with ready bytes; no task is started and no byte of its body is kept. The connection stays open.
"""

import asyncio
import logging
import re
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from spanwise.serving.guard import Guard, Refused, ready_bytes

logger = logging.getLogger(__name__)
MOST_HEADER_BYTES = 65_536
KEPT_SECONDS = 30  # that a connection lives without a request
LOG_SECONDS = 10.0  # between two lines about broken requests
OFFER = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
BETWEEN, IN_HEADER, IN_BODY = range(3)  # where in a request the next byte belongs
NO_HTTP = Refused(400, "ProtocolError", "this is no HTTP request.", {"connection": "close"})


class Broken:
    """Counts what is no HTTP, and logs one line for many, so that abuse does not fill the log."""

    def __init__(self) -> None:
        self._unsaid, self._next_line = 0, 0.0

    def count(self) -> None:
        """Count one more; log how many came where the last line is some seconds old."""
        self._unsaid += 1
        if time.monotonic() >= self._next_line:
            logger.warning("%d broken HTTP requests came since the last such line", self._unsaid)
            self._unsaid, self._next_line = 0, time.monotonic() + LOG_SECONDS


def protocol_of(guard: Guard, seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol of a server. seconds: the longest that a header, or a body that was refused, may take."""
    broken = Broken()

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._place, self._header_bytes, self._is_refused = BETWEEN, 0, False
            self._due: float | None = None  # when the connection ends unless something comes of it
            self._timer: asyncio.TimerHandle | None = None
            self._end_in(seconds)

        def data_received(self, data: bytes) -> None:
            before = self._place
            self._unset_keepalive_if_required()
            try:
                self.parser.feed_data(data if before == IN_BODY else _without_offer(data))
            except httptools.HttpParserUpgrade:  # an offer that came in two pieces: this request is the last
                if self._is_refused:
                    self.transport.close()
                elif self.cycle is not None:
                    self.cycle.keep_alive = False
            except httptools.HttpParserError:
                broken.count()
                guard.count("/v1/", 400)
                self.transport.write(ready_bytes(NO_HTTP, closes=True))
                self.transport.close()
                return
            self._header_bytes += len(data) if self._place == IN_HEADER and before != IN_BODY else 0
            if self._header_bytes > MOST_HEADER_BYTES:
                self._end()
            elif self._is_answering():
                self._due = None
            elif self._due is None:
                self._end_in(KEPT_SECONDS if self._is_refused and self._place == BETWEEN else seconds)

        def on_message_begin(self) -> None:
            self._place, self._header_bytes, self._due = IN_HEADER, 0, None
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._place, self._header_bytes = IN_BODY, 0
            self._is_refused = self._refuses()
            if not self._is_refused:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if not self._is_refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            self._place, self._due = BETWEEN, None
            if not self._is_refused:
                super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def _refuses(self) -> bool:
            """Answer a request by its header where that is enough; return whether it was."""
            if self.transport.is_closing():
                return True  # what comes behind the last request is read by nobody
            is_task = self.url.startswith(b"/v1/") and b"%" not in self.url and self.parser.get_method() == b"POST"
            if not is_task or self._is_answering() or self.flow.write_paused:
                return False  # by the application, which waits for its turn
            path = self.url.partition(b"?")[0].decode("latin-1")
            refused = guard.refusal("POST", path, self.headers)
            if refused is None:
                return False
            # Who waits to be told to send the body may never send it, so what follows could not be told from it.
            is_last = self.expect_100_continue or self.parser.get_http_version() == "1.0"
            is_last = is_last or not self.parser.should_keep_alive() or "connection" in refused.headers
            self.transport.write(ready_bytes(refused, closes=is_last))
            guard.count(path, refused.status)
            if is_last:
                self.transport.close()
            return True

        def _is_answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _end_in(self, left: float) -> None:
            """End the connection in so many seconds. A timer that runs is left alone as long as it ends earlier."""
            self._due = self.loop.time() + left
            if self._timer is not None and self._timer.when() > self._due:
                self._timer.cancel()
                self._timer = None
            if self._timer is None:
                self._timer = self.loop.call_at(self._due, self._look)

        def _look(self) -> None:
            self._timer = None
            if self._due is not None and self.loop.time() < self._due:
                self._timer = self.loop.call_at(self._due, self._look)
            elif self._due is not None:
                self._end()

        def _end(self) -> None:
            if not self._is_answering() and not self.transport.is_closing():
                self.transport.close()

    return Limited


def _without_offer(data: bytes) -> bytes:
    """Return the beginning of a request with its offer of another protocol under a name that means none: the parser
    takes what follows an offer for that protocol, while HTTP lets a server go on (Java's client offers h2c always)."""
    end = data.find(b"\r\n\r\n")
    end = len(data) if end < 0 else end
    return OFFER.sub(b"\r\nx-upgrade:", data[:end]) + data[end:]
