"""Who computes: threads, and processes that are forked from a nursery, replaced when they die, and leave with it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.errors import DataError
from spanwise.serving.server import listen
from spanwise.serving.workers import Nursery, answers_to, sendable, workers_of

ITEM = {"question": "Who met Bob?", "context": "Ada Smith met Bob in Paris."}


def test_a_bad_input_spoils_no_other_answer(mini):
    pipeline = mini["spanwise-mini"].pipelines["token-classification"]
    alone = answers_to(pipeline, ["Ada met Bob."], {})
    first, bad, last = answers_to(pipeline, ["Ada met Bob.", "  ", "Eve met Bob."], {})
    assert isinstance(bad, DataError) and "input" not in str(bad)
    assert first["spans"] and [first] == alone and last["num_windows"] == 1


def test_a_gpu_has_one_pack_at_a_time_and_cores_are_shared_out(monkeypatch):
    monkeypatch.setattr("spanwise.serving.workers.num_usable_cores", lambda: 9)
    assert workers_of("cpu") == (4, 2) and workers_of("cuda")[0] == 1
    monkeypatch.setattr("spanwise.serving.workers.num_usable_cores", lambda: 2)
    assert workers_of("cpu") == (2, 1)


def test_an_exception_that_can_not_be_sent_arrives_with_its_words():
    class Local(Exception):
        pass

    found = sendable(Local("no such thing"))
    assert type(found) is RuntimeError and str(found) == "Local: no such thing"
    kept = DataError("empty")
    assert sendable(kept) is kept and sendable({"answer": "Ada"}) == {"answer": "Ada"}


class Serving:
    """`spanwise serve` as a process of its own, in a group of its own, as a terminal starts it."""

    def __init__(self, log: Path) -> None:
        command = [sys.executable, "-m", "spanwise", "serve", "--port", "0", "--precision", "fp32"]
        self._log = log.open("w+")
        self.process = subprocess.Popen(
            [*command, "--pack-tokens", "544"],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        self.port = 0
        end = time.monotonic() + 120
        while not self.port and time.monotonic() < end and self.process.poll() is None:
            words = log.read_text().partition("http://127.0.0.1:")[2]
            self.port = int(words.split()[0]) if words.split() else 0
            time.sleep(0.05)
        assert self.port, log.read_text()

    def ask(self, item: object, task: str = "question-answering") -> tuple[int, dict]:
        """Return status and answer."""
        body = json.dumps({"inputs": item}).encode()
        address = f"http://127.0.0.1:{self.port}/v1/{task}"
        request = urllib.request.Request(address, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def forked(self) -> dict[str, list[int]]:
        """Return the numbers of the nursery and of its workers."""
        nursery = children(self.process.pid)
        return {"nursery": nursery, "workers": [pid for parent in nursery for pid in children(parent)]}

    def log(self) -> str:
        """Return all that it has said."""
        return Path(self._log.name).read_text()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._log.close()


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def all_ended(pids: list[int], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while any(is_alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(is_alive(pid) for pid in pids)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Serving]:
    found = Serving(tmp_path_factory.mktemp("served") / "log")
    yield found
    found.close()


def test_a_process_answers_as_a_thread_does(served, mini):
    pipelines = mini["spanwise-mini"].pipelines
    status, found = served.ask([ITEM, ITEM])
    assert status == 200 and found["answers"] == json.loads(json.dumps([pipelines["question-answering"](ITEM)] * 2))
    assert len(served.forked()["workers"]) >= 1
    status, found = served.ask("  ", "token-classification")
    assert status == 422 and found["error"]["type"] == "InputError"


def test_a_worker_that_was_killed_is_replaced(served):
    assert served.ask(ITEM)[0] == 200
    before = served.forked()["workers"]
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert all_ended(before)
    assert [served.ask(ITEM)[0] for _ in range(4)] == [200] * 4
    assert served.forked()["workers"] and not set(served.forked()["workers"]) & set(before)


def test_a_worker_that_dies_over_a_pack_costs_that_pack_alone(served):
    long, found = ["Ada Smith met Bob in Paris. She was tired. " * 400] * 4, []
    asking = threading.Thread(target=lambda: found.append(served.ask(long, "coreference")))
    asking.start()
    time.sleep(1.0)  # it has some ten times as much to do
    assert asking.is_alive()
    while asking.is_alive():  # its inputs go on one after another
        for pid in served.forked()["workers"]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    asking.join()
    assert found[0][0] == 503 and found[0][1]["error"]["type"] == "WorkerLostError"
    assert "is memory short?" in served.log()
    assert served.ask(ITEM)[0] == 200


@pytest.mark.slow
def test_without_any_process_the_server_computes_by_itself(tmp_path):
    server = Serving(tmp_path / "log")
    try:
        first = server.ask([ITEM] * 3)
        gone = [pid for group in server.forked().values() for pid in group]
        for pid in gone:
            os.kill(pid, signal.SIGKILL)
        assert all_ended(gone)
        assert [server.ask([ITEM] * 3) for _ in range(4)] == [first] * 4 and first[0] == 200
        assert "the server computes them itself" in server.log()
    finally:
        server.close()


@pytest.mark.slow
def test_nothing_outlives_a_server_that_is_killed_and_its_port_is_free_though_a_worker_still_computes(tmp_path):
    """What was forked sees that nobody asks any more."""
    server = Serving(tmp_path / "log")
    try:
        long = ["Ada Smith met Bob in Paris. She was tired. " * 100] * 8

        def ask() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.ask(long, "coreference")

        threading.Thread(target=ask, daemon=True).start()
        end = time.monotonic() + 60
        while not server.forked()["workers"] and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.2)
        pids = [pid for group in server.forked().values() for pid in group]
        assert len(pids) >= 2
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        listen("127.0.0.1", server.port).close()
        assert all_ended(pids)
    finally:
        server.close()


def test_an_answer_that_can_not_be_sent_is_an_error_of_its_own(mini):
    pipeline = mini["spanwise-mini"].pipelines["question-answering"]

    class Odd:
        def __call__(self, item):
            return (word for word in item)

    with Nursery([pipeline, odd := Odd()]) as nursery:
        (answerer,) = nursery.answerers(1, 1)
        (found,) = answerer(odd, ["Ada"], {})
        assert isinstance(found, Exception) and "pickle" in str(found)
        (answer,) = answerer(pipeline, [ITEM], {})
        assert answer["answer"] == "Ada Smith"


def test_ctrl_c_reaches_all_processes_and_what_was_taken_is_answered(served):
    """The last of this file, as it ends the server that they share."""
    assert served.ask(ITEM)[0] == 200
    said = len(served.log())
    long, found = ["Ada Smith met Bob in Paris. She was tired. " * 100] * 4, []
    asking = threading.Thread(target=lambda: found.append(served.ask(long, "coreference")))
    asking.start()
    time.sleep(0.5)
    assert asking.is_alive()
    pids = [pid for group in served.forked().values() for pid in group]
    os.killpg(served.process.pid, signal.SIGINT)
    asking.join()
    assert found[0][0] == 200 and len(found[0][1]["answers"]) == 4
    assert served.process.wait(60) == 0 and "has ended" not in served.log()[said:]
    assert len(pids) >= 2 and all_ended(pids)
    listen("127.0.0.1", served.port).close()
