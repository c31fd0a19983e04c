"""The client: the pipelines' forms of a call, errors, and patience. The server is one of the standard library."""

import ast
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import spanwise.client
from spanwise.client import Client, ServerError


class Echo(BaseHTTPRequestHandler):
    """Answers each input with itself; the first request of a path /v1/busy is told to come again."""

    protocol_version = "HTTP/1.1"
    busy: ClassVar[set[str]] = set()

    most: ClassVar[dict[str, int]] = {"inputs": 7}

    def do_GET(self):
        self.say(200, {"models": [], "limits": self.most})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/busy" and not self.busy:
            self.busy.add(self.path)
            return self.say(429, {"error": {"type": "QueueFullError", "message": "busy"}}, "0")
        if self.path == "/v1/bad":
            return self.say(422, {"error": {"type": "InputError", "message": "'context' is empty"}})
        if isinstance(body["inputs"], list) and len(body["inputs"]) > self.most.get("inputs", 16):
            return self.say(422, {"error": {"type": "ConfigError", "message": "too many inputs"}})
        self.say(200, {"answers": body["inputs"], "options": body.get("options")})

    def say(self, status, value, retry=None):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        if retry is not None:
            self.send_header("retry-after", retry)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def client():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found = Client(f"http://127.0.0.1:{server.server_port}")
    yield found
    found.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_needs_the_standard_library_alone():
    tree = ast.parse(Path(spanwise.client.__file__).read_text("utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_call_has_the_forms_of_the_pipelines(client):
    qa, tag = client.pipeline("question-answering"), client.pipeline("token-classification")
    pair = {"question": "q", "context": "c"}
    assert qa(question="q", context="c") == qa("q", "c") == qa(pair) == qa([pair]) == pair
    assert qa(question=["q", "r"], context="c") == [pair, {"question": "r", "context": "c"}]
    both = [pair, {"question": "r", "context": "d"}]
    assert qa(question=("q", "r"), context=("c", "d")) == both == qa(question=["q", "r"], context=("c", "d"))
    assert qa(question="q", context=("c", "d")) == [pair, {"question": "q", "context": "d"}]
    assert qa(question=("q", "r"), documents=("a",)) == [{"question": q, "documents": ["a"]} for q in "qr"]
    with pytest.raises(ValueError, match="2 questions came with 3 contexts; give each its own"):
        qa(question=["q", "r"], context=["c", "d", "e"])
    with pytest.raises(ValueError, match="documents is a str"):
        qa(question="q", documents="a text")
    assert qa(question="q", documents=iter(["a", "b"])) == {"question": "q", "documents": ["a", "b"]}
    assert tag("a") == "a" and tag(["a"]) == ["a"] and tag([str(n) for n in range(40)]) == [str(n) for n in range(40)]
    assert list(tag(str(n) for n in range(20))) == [str(n) for n in range(20)]
    for named in ({}, {"question": "q", "contexts": "c"}):
        with pytest.raises(ValueError, match="nothing to answer"):
            qa(**named)


def test_a_list_is_sent_in_as_many_requests_as_the_server_asks_or_in_the_usual_ones(client, monkeypatch):
    texts = [str(number) for number in range(40)]
    assert client.most_inputs() == 7 and client.pipeline("token-classification")(texts) == texts
    monkeypatch.setattr(Echo, "most", {})  # a server of an earlier version
    other = Client(f"http://{client._host}:{client._port}")
    assert other.most_inputs() == 16 and other.pipeline("token-classification")(texts) == texts
    other.close()


def test_errors_are_those_of_the_server_and_busy_is_asked_again(client):
    with pytest.raises(ServerError, match="'context' is empty") as caught:
        client.ask("bad", "x")
    assert (caught.value.status, caught.value.kind) == (422, "InputError")
    assert client.ask("busy", "x") == "x"


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(ServerError, match=r"no answer from 127\.0\.0\.1:9") as caught:
        Client("http://127.0.0.1:9").models()
    assert caught.value.status == 0 and not Client("http://127.0.0.1:9").is_ready()
    with pytest.raises(ValueError, match=r"http://127\.0\.0\.1:8000 was expected"):
        Client("localhost")
