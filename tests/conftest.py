"""Options of the whole suite. `--slow` adds the long tests; `--data-folder` says where the public data sets lie."""

import os
from pathlib import Path

# One thread a test process: two processes run side by side, and sums come out the same on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# The oracle must never reach for the network, nor print its progress bars into test output.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import pytest


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long tests too")
    parser.addoption(
        "--data-folder", type=Path, help="folder of public data sets for slow tests (text/, qa/squad/, qa/squadshifts/)"
    )


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


@pytest.fixture(scope="session")
def data_folder(request) -> Path:
    """The folder given with --data-folder; tests that ask for it are left out where none is given."""
    return request.config.getoption("--data-folder").resolve(strict=True)
