"""Load for a server, from one thread: requests are made beforehand and answers are read by hand, so that the clients
take as little as they can of the processor that the server is measured on (about 40 microseconds a request, where
`http.client` in threads takes some 500).
"""

import asyncio
import json
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

HOST = "127.0.0.1"
TICK = 0.001  # seconds, the least that epoll can wait


def request(task: str, body: bytes) -> bytes:
    """Return all that is sent for a body."""
    lines = [f"POST /v1/{task} HTTP/1.1", "host: localhost", "content-type: application/json"]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


def asking(task: str, item: object) -> bytes:
    """Return the request for the answer to one input."""
    return request(task, json.dumps({"inputs": item}).encode())


class Connection(asyncio.Protocol):
    """One connection, kept for many requests, one at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._held = b""
        self._answer: asyncio.Future[tuple[int, bytes, float]] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._held = self._held + data if self._held else data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        top = self._held[:end].lower()
        size = int(top.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(self._held) < end + 4 + size:
            return
        content, self._held = self._held[end + 4 : end + 4 + size], b""
        if b"connection: close" in top:
            self.close()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((int(top[9:12]), content, self._loop.time()))

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the server closed the connection"))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()
            self.transport = None

    async def ask(self, data: bytes) -> tuple[int, bytes, float]:
        """Return status and body, and when they had come. Raises: OSError."""
        if self.transport is None:
            raise ConnectionResetError("the connection is closed")
        self._answer = self._loop.create_future()
        self.transport.write(data)
        return await self._answer


class Connections:
    """Connections to a port; those that are free are used again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Connection] = []

    async def ask(self, data: bytes) -> tuple[int, bytes, float]:
        """Ask once; returns status, body and seconds from sending to answer. Raises: OSError."""
        loop = asyncio.get_running_loop()
        while True:
            is_kept = bool(self._idle)
            if is_kept:
                one = self._idle.pop()
            else:
                _, one = await loop.create_connection(Connection, HOST, self._port)
            began = loop.time()
            try:
                status, content, ended = await one.ask(data)
            except ConnectionResetError:
                if is_kept:
                    continue  # it was closed while it was idle
                raise
            if one.transport is not None:
                self._idle.append(one)
            return status, content, ended - began

    def close(self) -> None:
        for one in self._idle:
            one.close()
        self._idle = []


@dataclass
class Load:
    """What came back in `seconds`: times of answers and of refusals in seconds, and how many ended otherwise."""

    seconds: float = 0.0
    answered: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    others: int = 0

    @property
    def rate(self) -> float:
        """Return answers a second."""
        return len(self.answered) / max(1e-9, self.seconds)

    def __iadd__(self, other: "Load") -> "Load":
        self.seconds += other.seconds
        self.answered += other.answered
        self.refused += other.refused
        self.others += other.others
        return self

    def count(self, status: int, seconds: float) -> None:
        if status == 200:
            self.answered.append(seconds)
        elif status == 429:
            self.refused.append(seconds)
        else:
            self.others += 1


async def closed_loop(port: int, requests: Sequence[bytes], seconds: float, clients: int) -> Load:
    """Let each client ask again as soon as it is answered."""
    loop = asyncio.get_running_loop()
    found, connections, begin = Load(), Connections(port), loop.time()

    async def client(number: int) -> None:
        place = number
        while loop.time() - begin < seconds:
            status, _, took = await connections.ask(requests[place % len(requests)])
            found.count(status, took)
            place += clients

    await asyncio.gather(*map(client, range(clients)))
    found.seconds = loop.time() - begin
    connections.close()
    return found


def open_loop(port: int, requests: Sequence[bytes], rate: float, seconds: float) -> Load:
    """Send at a rate, whatever comes back; the answers of the last ones are waited for.

    Sockets are read by hand: at thousands of requests a second an event loop's own work would be seen in the figures.
    """
    found, idle, begin = Load(), [], time.monotonic()
    ready, sent, held = select.epoll(), dict[int, float](), dict[int, bytes]()
    by_number: dict[int, socket.socket] = {}

    def receive(number: int) -> None:
        data = held.pop(number, b"") + by_number[number].recv(1 << 20)
        end = data.find(b"\r\n\r\n")
        top = data[:end].lower() if end > 0 else b""
        if end < 0 or len(data) < end + 4 + int(top.partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            if data == b"":
                raise ConnectionResetError("the server closed a connection")
            held[number] = data
            return
        status = int(top[9:12])
        found.count(status, time.monotonic() - sent.pop(number))
        idle.append(number)

    for number in range(int(rate * seconds)):
        while (left := begin + number / rate - time.monotonic()) > 0:
            for active, _ in ready.poll(max(left, TICK)):
                receive(active)
        if not idle:
            made = socket.create_connection((HOST, port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            by_number[made.fileno()] = made
            ready.register(made, select.EPOLLIN)
            idle.append(made.fileno())
        one = idle.pop()
        sent[one] = time.monotonic()
        by_number[one].send(requests[number % len(requests)])
    while sent:
        for active, _ in ready.poll():
            receive(active)
    found.seconds = time.monotonic() - begin
    for made in by_number.values():
        made.close()
    ready.close()
    return found


async def all_of(port: int, requests: Sequence[bytes], clients: int) -> list[tuple[int, bytes]]:
    """Ask each once, so many at a time; return status and body of each, in their order."""
    connections = Connections(port)
    found: list[tuple[int, bytes]] = [(0, b"")] * len(requests)
    left = iter(range(len(requests)))

    async def client() -> None:
        for number in left:
            status, content, _ = await connections.ask(requests[number])
            found[number] = status, content

    await asyncio.gather(*(client() for _ in range(min(clients, len(requests)))))
    connections.close()
    return found
