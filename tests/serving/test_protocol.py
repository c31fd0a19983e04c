"""Headers without end, broken requests, and refusals that never reach the application."""

import json
import logging
import socket
import time

import pytest

from spanwise.serving.batcher import QueueFullError
from spanwise.serving.limits import Limits
from spanwise.serving.protocol import Broken

from .conftest import HEAD, Running, serving

HEALTH = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"


def asking(body: bytes, more: str = "") -> bytes:
    head = HEAD.format(host="localhost", kind="application/json", length=len(body), more=more)
    return head.encode() + body


def full(*size: int) -> None:
    raise QueueFullError(1)


@pytest.fixture
def busy(running, monkeypatch) -> Running:
    """A server without room."""
    monkeypatch.setitem(vars(running.app._batcher), "check_room", full)  # `setattr` would leave a method behind
    return running


def exchanged(running: Running, data: bytes, end: bytes) -> bytes:
    """Send on one connection and return what comes until `end` or until the connection is closed."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as connection:
        connection.sendall(data)
        found = b""
        while end not in found and (part := connection.recv(65536)):
            found += part
    return found


def test_broken_http_gets_a_400_and_the_server_lives(running):
    top, _, body = running.raw(b"\x00\xff nonsense\r\n\r\n").partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 400") and json.loads(body)["error"]["type"] == "ProtocolError"
    assert running.raw(asking(b'{"inputs": "Ada came."}', "connection: close\r\n")).startswith(b"HTTP/1.1 200")


def test_many_broken_requests_make_one_line_of_the_log(caplog, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    broken = Broken()
    with caplog.at_level(logging.WARNING):
        for _ in range(500):
            broken.count()
        now[0] += 11
        broken.count()
    assert [record.args for record in caplog.records] == [(1,), (500,)]


def test_a_slow_header_loses_its_connection(running):
    began = time.monotonic()
    assert running.raw(b"POST /v1/coreference HTTP/1.1\r\nhost: loc") == b""
    assert time.monotonic() - began < 10


def test_a_header_without_end_and_a_flood_of_headers_lose_their_connection_at_once(mini):
    with serving(mini, Limits(sending=60.0)) as patient:
        began = time.monotonic()
        assert patient.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 20_000) == b""
        assert patient.raw(b"GET /" + b"x" * 100_000) == b""
        assert time.monotonic() - began < 50  # long before the minute that a header may take


def test_a_request_that_offers_another_protocol_is_answered_in_this_one(running):
    offer = "connection: Upgrade, close\r\nUpgrade: h2c\r\n"
    answer = running.raw(asking(b'{"inputs": "Ada came."}', offer))
    assert answer.startswith(b"HTTP/1.1 200") and b'"num_windows":1' in answer


def test_a_busy_server_refuses_without_the_application_and_keeps_the_connection(busy):
    before = busy.server.server_state.total_requests
    found = exchanged(busy, asking(b'{"inputs": "Ada."}') * 3 + HEALTH, b"alive")
    assert [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"429", b"429", b"429", b"200"]
    assert found.lower().count(b"retry-after: 1\r\n") == 3 and b"connection: close" not in found
    metrics = busy.raw(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").decode()
    assert 'spanwise_requests_total{path="/v1/coreference",status="429"}' in metrics
    # What the application answered: /health, and /metrics once its bytes are sent. No refusal.
    assert busy.server.server_state.total_requests - before in (1, 2)


def test_a_refusal_waits_for_the_answer_before_it(busy):
    found = exchanged(busy, HEALTH + asking(b"{}"), b"QueueFullError")
    assert [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"200", b"429"]


@pytest.mark.parametrize("more", ["expect: 100-continue\r\n", "connection: close\r\n"])
def test_a_refusal_is_the_last_where_what_follows_could_not_be_told_from_the_body(busy, more):
    found = busy.raw(asking(b'{"inputs": "Ada."}', more) + HEALTH)
    assert found.count(b"HTTP/1.1 ") == 1 and b"connection: close" in found


def test_a_refused_body_that_still_comes_is_read_away_and_the_connection_serves_on(busy):
    sent = asking(b'{"inputs": "' + b"Ada. " * 11_000 + b'"}')  # about as much as a body may have here
    with socket.create_connection(("127.0.0.1", busy.port), timeout=30) as connection:
        connection.sendall(sent[:1000])
        assert connection.recv(65536).startswith(b"HTTP/1.1 429")
        connection.sendall(sent[1000:] + HEALTH)
        found = b""
        while b"alive" not in found and (part := connection.recv(65536)):
            found += part
        assert found.startswith(b"HTTP/1.1 200")


def test_a_refused_body_that_does_not_come_loses_its_connection(busy):
    began = time.monotonic()
    assert busy.raw(asking(b'{"inputs": "Ada."}')[:-4]).startswith(b"HTTP/1.1 429")
    assert time.monotonic() - began < 10
