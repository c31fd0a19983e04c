"""What stands before the application: who may ask, how large and how slow a body may be, and an early "busy".

Most abuse ends here, before a body is read or parsed. What a header alone decides is asked twice: by the protocol
(`protocol.py`) as soon as a header is there, which then answers with ready bytes and never starts the application, and
here for requests that come while another one of their connection is still being answered.
"""

import asyncio
import functools
import hmac
import http
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
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
            refused = self.refusal(scope["method"], path, scope["headers"])
            if refused is not None:
                raise refused
            if scope["method"] == "POST":
                held = _announced(dict(scope["headers"]), self._limits.body)
                self._buffered += held
                body = await self._body(receive)
                receive = _replayed(body, receive)
            if scope["method"] == "HEAD":  # what GET would be told, without the body, which the server leaves out
                scope = {**scope, "method": "GET"}
            await self._app(scope, receive, counted)
        except Refused as refused:
            await _send_error(counted, refused)
        finally:
            self._buffered -= held
            self.count(path, status)

    known: frozenset[str] = frozenset()  # tasks with a path of their own, as the metrics name them

    def count(self, path: str, status: int) -> None:
        """Count a request that was answered or refused."""
        if status == 429:
            self._metrics.add("spanwise_rejected_total")
        if path.startswith("/v1/"):
            named = path if path.removeprefix("/v1/") in self.known else "/v1/other"
            self._metrics.add("spanwise_requests_total", path=named, status=str(status))

    def refusal(self, method: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> Refused | None:
        """Return why a request ends before its body is read, None where it goes on; names of headers are lower case."""
        try:
            self._check(method, path, dict(headers))
        except Refused as refused:
            return refused
        return None

    def _check(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse by the header alone. Raises: Refused."""
        if self._hosts is not None and _host(headers.get(b"host", b"")) not in self._hosts:
            raise Refused(421, "HostError", "this server answers to its own address alone.", CLOSE)
        if not path.startswith("/v1/"):
            if method == "POST":
                raise Refused(405, "MethodError", f"{path[:80]} takes no POST; tasks are below /v1/.", CLOSE)
            return
        if self._api_key is not None:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            is_right = hmac.compare_digest(given.strip(), self._api_key.encode())
            if scheme.lower() != b"bearer" or not is_right:
                words = "this server wants its key: Authorization: Bearer KEY."
                raise Refused(401, "KeyError", words, {"www-authenticate": "Bearer", **CLOSE})
        if method == "POST":
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refused(415, "TypeError", "a body of type application/json was expected.", CLOSE)
            self._check_room(_announced(headers, self._limits.body))

    def _check_room(self, length: int) -> None:
        """Refuse where no room is left, or never is for a body of this length. Raises: Refused."""
        try:
            self._batcher.check_room()
        except QueueFullError as error:
            raise busy(error) from error
        except StoppingError:
            raise stopping() from None
        if length > self._limits.body:
            raise self._too_large()
        if self._buffered + length > self._limits.buffered:
            raise busy(QueueFullError(1))

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


def _host(value: bytes) -> str:
    """Return the name of a Host header without its port."""
    text = value.decode("latin-1")
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if ":" in text else text


def _announced(headers: dict[bytes, bytes], most: int) -> int:
    """Return how much room a body asks for; without a length, the most that one may have."""
    given = headers.get(b"content-length", b"")
    return int(given) if given.isdigit() and len(given) < 20 else most


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


def _parts(refused: Refused) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of a refusal."""
    body = json.dumps(error_body(refused.kind, str(refused))).encode()
    return body, {"content-type": "application/json", "content-length": str(len(body)), **refused.headers}


def ready_bytes(refused: Refused, *, closes: bool) -> bytes:
    """Return a refusal as HTTP sends it; the same few are sent over and over, and made once."""
    return _ready_bytes(refused.status, refused.kind, str(refused), tuple(refused.headers.items()), closes)


@functools.lru_cache(256)
def _ready_bytes(status: int, kind: str, message: str, headers: tuple[tuple[str, str], ...], closes: bool) -> bytes:
    body, named = _parts(Refused(status, kind, message, {**dict(headers), **(CLOSE if closes else {})}))
    lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", *(f"{name}: {v}" for name, v in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _send_error(send: Send, refused: Refused) -> None:
    body, headers = _parts(refused)
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
