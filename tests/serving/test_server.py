"""Listening and stopping."""

import json
import socket
import threading
import time
import urllib.request
from collections import Counter

import pytest

from spanwise.errors import ConfigError
from spanwise.serving.server import listen

from .conftest import serving


def test_a_port_that_is_taken_is_named():
    with listen("127.0.0.1", 0) as at, pytest.raises(ConfigError, match="can't listen at 127"):
        listen("127.0.0.1", at.getsockname()[1])


def test_small_answers_are_sent_at_once():
    """asyncio turns Nagle's algorithm off where a socket names TCP; with it answers wait for acknowledgements."""
    with listen("127.0.0.1", 0) as at:
        assert at.proto == socket.IPPROTO_TCP


def test_a_server_that_stops_answers_what_it_has_taken(mini):
    body = json.dumps({"inputs": ["Ada met Bob in Paris. " * 20] * 4}).encode()
    answers = []
    with serving(mini) as running:
        taken: Counter[str] = Counter()
        put = running.app._batcher.put
        running.app._batcher.put = lambda jobs: put(jobs) or taken.update(inputs=len(jobs))

        def ask() -> None:
            request = urllib.request.Request(
                f"{running.address}/v1/coreference", body, {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                answers.append(len(json.loads(answer.read())["answers"]))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 30
        while taken.total() < 24 and time.monotonic() < end:
            time.sleep(0.002)
        running.server.should_exit = True
        for thread in threads:
            thread.join(60)
    assert answers == [4] * 6 and not running.thread.is_alive()
