"""Options of the whole suite. `--slow` adds the long tests; `--data-folder` says where the public data sets lie."""

import gc
import os
import signal
from pathlib import Path

# One thread a test process: several processes run side by side, and sums come out the same on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# The oracle must never reach for the network, nor print its progress bars into test output.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import numpy as np
import pytest
import torch

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.runtime.progress import Gauge
from spanwise.text.learn import learn_tokenizer

# Where the suite runs in the background, a shell may have it ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def threads_as_before():
    """A run sets torch's number of threads for its whole process; the next test must not compute with another one."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def gauges(monkeypatch) -> dict[str, list[float]]:
    """How much every bar of progress expected and how much was done, by what it says."""
    found: dict[str, list[float]] = {}

    def expect(gauge, amount):
        found.setdefault(gauge._what, [0.0, 0.0])[0] += amount

    def add(gauge, amount):
        found[gauge._what][1] += amount

    monkeypatch.setattr(Gauge, "expect", expect)
    monkeypatch.setattr(Gauge, "add", add)
    return found


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long tests too")
    parser.addoption(
        "--data-folder",
        type=Path,
        help="folder of public data sets for slow tests, written --data-folder=DIR (text/, qa/squad/, re/, ...)",
    )


def _group_by_file(items) -> None:
    """Have the tests of a file run by one process, and those of a folder that makes something once for its files.

    So nothing that they share is made twice, and the process that hands out work has hundreds of groups to look after,
    not thousands. A slow test that shares nothing goes alone, to whichever process is free.
    """
    sharing, group_of = set(), {}
    for item in items:
        file = item.nodeid.split("::")[0]
        known = getattr(item, "_fixtureinfo", None)
        made = [one for found in known.name2fixturedefs.values() for one in found] if known else []
        shares_folder = any(one.scope == "session" and "/" in one.baseid for one in made)
        if shares_folder or any(one.scope == "module" for one in made):
            sharing.add(item)
        if shares_folder or file not in group_of:
            group_of[file] = "/".join(file.split("/")[:2]) if shares_folder else file
    for item in items:
        if item in sharing or not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group(group_of[item.nodeid.split("::")[0]]))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of the same name
def pytest_collection_modifyitems(config, items):
    """Leave out what was not asked for; pytest's closing line counts it as deselected."""
    left_out = []
    for item in items:
        slow = item.get_closest_marker("slow") and not config.getoption("--slow")
        if slow or ("data_folder" in item.fixturenames and config.getoption("--data-folder") is None):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    _group_by_file(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Importing hundreds of modules of tests leaves hardly any garbage, and looking for it takes a sixth of that time.

    What was imported stays to the end, so it is never looked through again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def data_folder(request) -> Path:
    """The folder given with --data-folder; tests that ask for it are left out where none is given."""
    return request.config.getoption("--data-folder").resolve(strict=True)


TEXT = """the old river ran past a stone bridge and into the quiet town where people sold bread fish and cloth
every morning before the bells of the tall church rang over the market square in winter and in summer"""
WORDS = TEXT.split()


def sentences(seed: int, count: int) -> list[str]:
    """Sentences from a small grammar of its own: word i follows from a linear congruence, so no library draws."""
    made, state = [], seed
    for _ in range(count):
        words = []
        for _ in range(8 + state % 9):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(WORDS[(state >> 8) % len(WORDS)])
        made.append(" ".join(words).capitalize() + ".")
    return made


@pytest.fixture(scope="session")
def tiny_text(tmp_path_factory) -> Path:
    """Fifty documents of eight sentences, a paragraph each."""
    lines = sentences(1, 400)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n\n".join(" ".join(lines[i : i + 8]) for i in range(0, 400, 8)), encoding="utf-8")
    return path


class EverySecondPiece:
    """Tags a token with 1 where the one before it has 0: a morpheme in two pieces, to a test."""

    name = "morphemes"
    source = "a test"

    def tag(self, texts, encodings):
        return [(np.arange(len(encoding.ids)) % 2 == 0).astype(np.uint8) for encoding in encodings]


@pytest.fixture(scope="session")
def tiny_tagged_store(tiny_text, tiny_store) -> TokenStore:
    """`tiny_store` with the side array `morphemes`."""
    folder = tiny_text.parent / "tagged-store"
    prepare(tiny_text, tiny_store.tokenizer(), folder, taggers=[EverySecondPiece()])
    return TokenStore.open(folder)


@pytest.fixture(scope="session")
def question_store(tiny_text) -> TokenStore:
    """`tiny_text` as a store whose vocabulary has [QUESTION]."""
    folder = tiny_text.parent / "question-store"
    prepare(tiny_text, learn_tokenizer(tiny_text, vocab_size=300, roles=("question",)), folder)
    return TokenStore.open(folder)


@pytest.fixture(scope="session")
def tiny_store(tiny_text) -> TokenStore:
    """`tiny_text` as a store with a learned vocabulary of some 200 pieces."""
    folder = tiny_text.parent
    prepare(tiny_text, learn_tokenizer(tiny_text, vocab_size=300), folder / "store")
    return TokenStore.open(folder / "store")
