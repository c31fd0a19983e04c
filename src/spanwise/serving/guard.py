"""What stands before the application: who may ask, how large and how slow a body may be, and an early "busy".

Most abuse ends here, before a body is read or parsed: a flood of requests then costs little, and what is refused is
refused at once.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from spanwise.serving.batcher import Batcher, QueueFullError, StoppingError
from spanwise.serving.limits import Limits
from spanwise.serving.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CLOSE = {"connection": "close"}


class Refused(Exception):
    """An answer that ends a request: status, kind and sentence of the error, and headers."""

    def __init__(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.headers = status, kind, headers or {}


def error_body(kind: str, message: str) -> dict[str, Any]:
    """Return the one form that all errors have."""
    return {"error": {"type": kind, "message": message}}


def busy(error: QueueFullError) -> Refused:
    """Return the answer to whom no room is left."""
    return Refused(429, "QueueFullError", str(error), {"retry-after": str(error.seconds)})


def stopping() -> Refused:
    """Return the answer of a server on its way out."""
    return Refused(503, "StoppingError", "the server is stopping; ask another one.", {"retry-after": "1", **CLOSE})


class Guard:
    """An ASGI application around another one.

    hosts: names that the header Host may have, None for any; a server on loopback names its own, so that a page from
    elsewhere can't reach it under a name that it resolves to this machine.
    """

    def __init__(
        self,
        app: Application,
        *,
        batcher: Batcher,
        limits: Limits,
        metrics: Metrics,
        api_key: str | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self._app, self._batcher, self._limits, self._metrics = app, batcher, limits, metrics
        self._api_key, self._hosts = api_key, hosts
        self._buffered = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        status = 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        held = 0
        try:
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            self._check(scope, path, headers)
            if scope["method"] == "POST":
                length = self._announced(headers)
                body, held = b"", length
                self._buffered += held
                body = await self._body(receive)
                receive = _replayed(body, receive)
            await self._app(scope, receive, counted)
        except Refused as refused:
            if refused.status == 429:
                self._metrics.add("spanwise_rejected_total")
            await _send_error(counted, refused)
        finally:
            self._buffered -= held
            if path.startswith("/v1/"):
                named = path if path.removeprefix("/v1/") in self.known else "/v1/other"
                self._metrics.add("spanwise_requests_total", path=named, status=str(status))

    known: frozenset[str] = frozenset()  # tasks with a path of their own, as the metrics name them

    def _check(self, scope: Any, path: str, headers: dict[str, str]) -> None:
        """Refuse by the header alone. Raises: Refused."""
        if self._hosts is not None and _host(headers.get("host", "")) not in self._hosts:
            raise Refused(421, "HostError", "this server answers to its own address alone.", CLOSE)
        if not path.startswith("/v1/"):
            if scope["method"] == "POST":
                raise Refused(405, "MethodError", f"{path[:80]} takes no POST; tasks are below /v1/.", CLOSE)
            return
        if self._api_key is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            is_right = hmac.compare_digest(given.strip().encode(), self._api_key.encode())
            if scheme.lower() != "bearer" or not is_right:
                words = "this server wants its key: Authorization: Bearer KEY."
                raise Refused(401, "KeyError", words, {"www-authenticate": "Bearer", **CLOSE})
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(415, "TypeError", "a body of type application/json was expected.", CLOSE)
            try:
                self._batcher.check_room()
            except QueueFullError as error:
                raise busy(error) from error
            except StoppingError:
                raise stopping() from None

    def _announced(self, headers: dict[str, str]) -> int:
        """Return how much room a body asks for. Raises: Refused where it is too much."""
        given = headers.get("content-length", "")
        length = int(given) if given.isascii() and given.isdigit() else self._limits.body
        if length > self._limits.body:
            raise self._too_large()
        if self._buffered + length > self._limits.buffered:
            raise busy(QueueFullError(1))
        return length

    async def _body(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.sending):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "BodyError", "the body ended too early.", CLOSE)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._limits.body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            words = f"the body did not arrive within {self._limits.sending:g} s."
            raise Refused(408, "TimeoutError", words, CLOSE) from None

    def _too_large(self) -> Refused:
        words = f"a body has at most {self._limits.body:,} bytes; send less text at a time."
        return Refused(413, "SizeError", words, CLOSE)


def _host(value: str) -> str:
    """Return the name of a Host header without its port."""
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.rpartition(":")[0] if ":" in value else value


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body which was read, then what comes after it."""
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _send_error(send: Send, refused: Refused) -> None:
    body = json.dumps(error_body(refused.kind, str(refused))).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refused.headers}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
