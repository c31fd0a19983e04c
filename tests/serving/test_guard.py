"""What is refused before a body is read."""

import json
import socket
import time

import pytest

from spanwise.serving.batcher import QueueFullError
from spanwise.serving.limits import Limits

from .conftest import serving

HEAD = "POST /v1/coreference HTTP/1.1\r\nhost: {host}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\r\n"


def ask(running, body: bytes, *, host="localhost", kind="application/json", length=None, more="") -> tuple[int, dict]:
    head = HEAD.format(host=host, kind=kind, length=len(body) if length is None else length, more=more)
    top, _, content = running.raw(head.encode() + body).partition(b"\r\n\r\n")
    return int(top.split(b" ", 2)[1]), json.loads(content or b"{}")


@pytest.mark.parametrize(
    "status, words, options",
    [
        (413, "at most 60,000 bytes", {"length": 60_001}),
        (415, "application/json was expected", {"kind": "text/plain"}),
        (421, "its own address alone", {"host": "evil.example"}),
    ],
)
def test_what_the_header_says_is_judged_before_the_body(running, status, words, options):
    found, answer = ask(running, b"{}", **options)
    assert found == status and words in answer["error"]["message"]


def test_a_body_without_a_length_is_cut_off_at_the_limit(running):
    head = "POST /v1/coreference HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    chunk = b"ea60\r\n" + b"x" * 60_000 + b"\r\n"
    answer = running.raw(head.encode() + b"transfer-encoding: chunked\r\n\r\n" + chunk + chunk)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_slow_body_and_a_slow_header_lose_their_connection(running):
    began = time.monotonic()
    assert ask(running, b"{", length=90)[0] == 408
    assert running.raw(b"POST /v1/coreference HTTP/1.1\r\nhost: loc") == b""
    assert time.monotonic() - began < 10


def test_a_key_is_asked_for_below_v1_alone(mini):
    with serving(mini, api_key="secret") as running:
        body = b'{"inputs": "Ada came."}'
        close = "connection: close\r\n"
        assert ask(running, body)[0] == 401
        assert ask(running, body, more="authorization: Bearer wrong\r\n")[0] == 401
        assert ask(running, body, more=f"authorization: Bearer secret\r\n{close}")[0] == 200
        assert running.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 200"
        )


def test_broken_http_gets_a_400_and_the_server_lives(running):
    assert running.raw(b"\x00\xff nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert ask(running, b'{"inputs": "Ada came."}', more="connection: close\r\n")[0] == 200


def test_a_header_without_end_and_a_flood_of_headers_lose_their_connection(running):
    began = time.monotonic()
    assert running.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 20_000) == b""
    assert running.raw(b"GET /" + b"x" * 100_000) == b""
    assert time.monotonic() - began < 1.0 + 0.9  # at once, not after the second that a header may take


def test_a_request_that_offers_another_protocol_is_answered_in_this_one(running):
    offer = "connection: Upgrade, close\r\nUpgrade: h2c\r\n"
    status, answer = ask(running, b'{"inputs": "Ada came."}', more=offer)
    assert status == 200 and answer["answers"]["num_windows"] == 1


def test_a_refused_body_that_still_comes_is_read_away_and_the_connection_serves_on(mini):
    with serving(mini, Limits(waiting=1)) as running:
        batcher = running.app._batcher
        check, batcher.check_room = batcher.check_room, full
        body = b'{"inputs": "' + b"Ada. " * 30_000 + b'"}'  # more than a header may have
        head = HEAD.format(host="localhost", kind="application/json", length=len(body), more="").encode()
        with socket.create_connection(("127.0.0.1", running.port), timeout=30) as connection:
            connection.sendall(head + body[:1000])
            assert connection.recv(65536).startswith(b"HTTP/1.1 429")
            batcher.check_room = check
            connection.sendall(body[1000:] + b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            found = b""
            while b"alive" not in found:
                found += connection.recv(65536) or b"alive: closed"
            assert b"HTTP/1.1 200" in found


def full(*size: int) -> None:
    raise QueueFullError(1)
