"""Ask a server that `spanwise serve` started, with the arguments of the pipelines. Needs the standard library alone.

    from spanwise.client import Client

    qa = Client("http://127.0.0.1:8000").pipeline("question-answering")
    qa(question="Who won?", context="Denver won the game.")["answer"]

Differs from the pipelines: vectors of spans are lists of numbers, since there is no numpy here; a text that is drawn
(`do_sample`) is drawn as if its input had been asked alone, so equal inputs of a list get equal texts.
"""

import http.client
import itertools
import json
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

BATCH = 16  # inputs of one request, or fewer where the server takes fewer
ITEM_NAMES = ("question", "context", "documents")  # of a call with names, as the pipeline of questions takes them


class ServerError(Exception):
    """An answer that is none. `kind` and the message are the server's, `status` is HTTP's (0: it was not reached)."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Client:
    """A server's address. Any number of threads may share one; each keeps a connection of its own.

    A server that is busy is asked again up to `retries` times, when it says that it has room. `timeout` is in seconds,
    of one request.
    """

    def __init__(
        self, address: str = "http://127.0.0.1:8000", *, api_key: str | None = None, timeout: float = 60.0,
        retries: int = 5,
    ) -> None:  # fmt: skip
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"address {address!r} was given; one such as http://127.0.0.1:8000 was expected.")
        self._type = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._key, self._timeout, self._retries = api_key, timeout, retries
        self._local = threading.local()
        self._most_inputs = 0  # of a request; 0: not known yet

    def models(self) -> list[dict[str, Any]]:
        """Return the name of each model and what it can do. Raises: ServerError."""
        return self._asked("GET", "/v1/models")["models"]

    def most_inputs(self) -> int:
        """Return how many inputs go into one request. Raises: ServerError."""
        if not self._most_inputs:
            limits = self._asked("GET", "/v1/models")["limits"]
            self._most_inputs = min(BATCH, limits.get("inputs", BATCH))  # servers of an earlier version don't say
        return self._most_inputs

    def is_ready(self) -> bool:
        """Return whether the server takes requests now."""
        try:
            return bool(self._asked("GET", "/ready")["ready"])
        except ServerError:
            return False

    def pipeline(self, task: str, model: str | None = None, **options: Any) -> "RemotePipeline":
        """Return a callable that answers as `spanwise.pipeline(task)` does; the options are new defaults of its calls.

        model: one of `models()`, by default the first that knows the task.
        """
        return RemotePipeline(self, task, model, options)

    def ask(self, task: str, inputs: Any, options: Mapping[str, Any] | None = None, model: str | None = None) -> Any:
        """Return the answers to one input or to a list that goes into one request. Raises: ServerError."""
        body = {"inputs": inputs, "options": options or None, "model": model}
        return self._asked("POST", f"/v1/{task}", {name: v for name, v in body.items() if v is not None})["answers"]

    def _asked(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        for attempt in itertools.count():
            status, headers, content = self._sent(method, path, data)
            try:
                found = json.loads(content)
            except ValueError:
                raise ServerError(status, "FormatError", f"{self._host} is no server of spanwise.") from None
            if status == 200:
                return found
            wait = headers.get("retry-after", "")
            if status == 429 and attempt < self._retries and wait.isdigit():
                time.sleep(int(wait))
                continue
            error = found.get("error", {}) if isinstance(found, dict) else {}
            raise ServerError(status, error.get("type", "Error"), error.get("message", f"status {status}"))

    def _sent(self, method: str, path: str, data: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"content-type": "application/json"} if data is not None else {}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        for is_kept in (True, False):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                is_kept = False
                connection = self._local.connection = self._type(self._host, self._port, timeout=self._timeout)
            try:
                connection.request(method, self._path + path, data, headers)
                answer = connection.getresponse()
                content = answer.read()
                if answer.will_close:
                    self.close()
                return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_kept and not isinstance(error, TimeoutError):
                    continue  # the server had closed a connection that was kept
                where = f"{self._host}:{self._port or self._type.default_port}"
                raise ServerError(0, type(error).__name__, f"no answer from {where} ({error}).") from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None


class RemotePipeline:
    """A pipeline that runs on a server: one input, a list or a generator in, answers of the same form out."""

    def __init__(self, client: Client, task: str, model: str | None, options: Mapping[str, Any]) -> None:
        self._client, self.task, self.model, self._defaults = client, task, model, options

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Answer as the pipeline of the task does. Raises: ServerError."""
        options = {**self._defaults, **{name: value for name, value in named.items() if name not in ITEM_NAMES}}
        inputs = self._inputs(args, {name: named[name] for name in ITEM_NAMES if named.get(name) is not None})
        if isinstance(inputs, Iterator):
            return self._streamed(inputs, options)
        if not isinstance(inputs, list | tuple):
            return self._client.ask(self.task, inputs, options, self.model)
        size = self._client.most_inputs() if len(inputs) > 1 else 1
        batches = _batches(inputs, size)
        answers = [a for batch in batches for a in self._client.ask(self.task, batch, options, self.model)]
        is_one = self.task in ("question-answering", "fill-mask") and len(answers) == 1
        return answers[0] if is_one else answers

    def _inputs(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if len(args) == 2 and all(isinstance(arg, str) for arg in args):
            return {"question": args[0], "context": args[1]}
        if args and not named:
            return args[0] if len(args) == 1 else list(args)
        if args:
            named["question"] = args[0]
        if "question" not in named:
            raise ValueError("nothing to answer: pass an input, or question= with context= or documents=.")
        question = named["question"]
        if "documents" in named:
            if isinstance(named["documents"], str):
                raise ValueError("documents is a str; a list or generator of texts was expected.")
            documents = list(named["documents"])
            asked = [{"question": q, "documents": documents} for q in _listed(question)]
            return asked if isinstance(question, list | tuple) else asked[0]
        if "context" not in named:
            raise ValueError("nothing to answer: question= came without context= or documents=.")
        return _pairs(question, named["context"])

    def _streamed(self, inputs: Iterator[Any], options: Mapping[str, Any]) -> Iterator[Any]:
        for batch in _batches(inputs, self._client.most_inputs()):
            yield from self._client.ask(self.task, batch, options, self.model)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _pairs(question: Any, context: Any) -> Any:
    """Return one question with its context, or a list of them where one of the two is a list or a tuple.

    Raises: ValueError for lists of different lengths.
    """
    columns = [question, context]
    sizes = [len(column) for column in columns if isinstance(column, list | tuple)]
    if not sizes:
        return {"question": question, "context": context}
    if sizes[0] != sizes[-1]:
        raise ValueError(f"{sizes[0]} questions came with {sizes[1]} contexts; give each its own.")
    full = (column if isinstance(column, list | tuple) else [column] * sizes[0] for column in columns)
    return [{"question": q, "context": c} for q, c in zip(*full, strict=True)]


def _batches(inputs: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(inputs)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
