"""What is refused before a body is read."""

import json
import time

import pytest

from .conftest import HEAD, serving


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


def test_a_slow_body_loses_its_connection(running):
    began = time.monotonic()
    assert ask(running, b"{", length=90)[0] == 408
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
