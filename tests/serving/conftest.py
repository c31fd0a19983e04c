"""A real server of the shipped model on a free port, in a thread; most tests of this folder ask it."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.tiny_tasks import tiny_task, tiny_writer

from spanwise.serving.app import make_app
from spanwise.serving.guard import LOOPBACK
from spanwise.serving.limits import Limits
from spanwise.serving.models import ServedModel, open_models
from spanwise.serving.server import listen, make_server

HEAD = "POST /v1/coreference HTTP/1.1\r\nhost: {host}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\r\n"


@dataclass
class Running:
    """A server, its port, and how it is told to stop."""

    port: int
    app: object
    server: object
    thread: threading.Thread

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def raw(self, data: bytes, *, end: bool = False) -> bytes:
        """Send bytes as they are and return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(data)
            if end:
                connection.shutdown(socket.SHUT_WR)
            parts = []
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    parts.append(part)
            return b"".join(parts)


@contextlib.contextmanager
def serving(models: dict[str, ServedModel], limits: Limits | None = None, **options: object) -> Iterator[Running]:
    limits = limits or Limits()
    at = listen("127.0.0.1", 0)
    app = make_app(models, limits=limits, hosts=LOOPBACK, **options)
    server = make_server(app, limits)
    thread = threading.Thread(target=server.run, args=([at],))
    thread.start()
    try:
        end = time.monotonic() + 60
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        yield Running(at.getsockname()[1], app, server, thread)
    finally:
        server.should_exit = True
        thread.join(60)
        at.close()


@pytest.fixture(scope="session")
def mini() -> dict[str, ServedModel]:
    """The shipped English model in packs of 544 tokens, float32."""
    return open_models(["spanwise-mini"], "fp32", pack_tokens=544)


@pytest.fixture(scope="session")
def running(mini) -> Iterator[Running]:
    """Small limits, so that tests of limits are small too."""
    limits = Limits(body=60_000, text=20_000, request=40_000, inputs=8, documents=4, pieces=50, sending=1.0)
    with serving(mini, limits) as found:
        yield found


@pytest.fixture(scope="session")
def related(mini, tmp_path_factory) -> dict[str, ServedModel]:
    """One model that finds names and one that relates them, as a combined folder has them; the second is random."""
    folder = tiny_task("relation", tmp_path_factory.mktemp("relation"))
    relate = open_models([folder], "fp32", pack_tokens=544)["run"].pipelines["relation-extraction"]
    names = mini["spanwise-mini"].pipelines["token-classification"]
    return {"both": ServedModel(name="both", pipelines={"token-classification": names, "relation-extraction": relate})}


@pytest.fixture(scope="session")
def writer_folder(tiny_text, tmp_path_factory) -> str:
    """A causal model with random weights."""
    return str(tiny_writer(tmp_path_factory.mktemp("writer") / "gpt", tiny_text))


@pytest.fixture(scope="session")
def writer(writer_folder) -> dict[str, ServedModel]:
    return open_models([writer_folder], "fp32")
