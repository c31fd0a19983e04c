"""Facts about the machine and the advice drawn from them."""

import dataclasses
import re
import resource
import tomllib
from pathlib import Path

import pytest

from spanwise.runtime import machine as module
from spanwise.runtime.machine import EXTRAS, NEEDED, Machine, huge_pages, num_usable_cores, survey_machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Machine:
    return survey_machine(tmp_path_factory.mktemp("out") / "not" / "there" / "yet")


def test_a_survey_finds_what_is_installed(machine):
    assert machine.missing == ()
    assert machine.num_cores == num_usable_cores() >= 1
    assert machine.disk_free_gb > 0
    assert machine.device in ("cpu", "cuda", "mps", "cuda:0")


def test_the_packages_are_those_that_the_project_names():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]

    def names(lines):
        return [re.match(r"[\w.-]+", line)[0] for line in lines]

    assert sorted(NEEDED) == sorted(names(project["dependencies"]))
    extras = project["optional-dependencies"]
    assert EXTRAS.keys() == extras.keys() - {"all", "docs", "slow", "test"}
    assert {extra: module for extra, module in EXTRAS.items() if module not in names(extras[extra])} == {}


def test_memory_is_never_more_than_there_is(machine):
    if machine.memory_gb is not None:
        assert 0 < machine.memory_free_gb <= machine.memory_gb


def test_each_weakness_gets_a_line_with_its_cure(machine):
    healthy = dataclasses.replace(
        machine, huge_pages="in use", compiled_cache="/somewhere", memory_gb=8.0, disk_free_gb=50.0, num_threads=1
    )
    assert healthy.advice() == []
    threaded = dataclasses.replace(healthy, device="cpu", num_cores=4, num_threads=4)
    assert threaded.advice() == []  # one process with a thread on each core is the fastest way there
    for change, cure in [
        ({"huge_pages": "available"}, "GLIBC_TUNABLES"),
        ({"compiled_cache": None}, "NUMBA_CACHE_DIR"),
        ({"memory_gb": 1.0}, "small"),
        ({"disk_free_gb": 0.5}, "free some"),
        ({"missing": ("torch",)}, "pip install"),
        ({"num_threads": 999}, "OMP_NUM_THREADS"),
    ]:
        (line,) = dataclasses.replace(healthy, **change).advice()
        assert cure in line


def test_large_pages_count_as_in_use_once_they_are_asked_for(monkeypatch):
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    before = huge_pages()
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    assert huge_pages() == ("in use" if before != "no" else "no")


def test_a_limit_of_the_shell_counts_as_memory(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (3_000_000_000, resource.RLIM_INFINITY))
    assert module.usable_memory() == 3e9
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setattr(module, "_memory", lambda: (8.0, 1.0))
    assert module.usable_memory() == 8e9
    monkeypatch.setattr(module, "_memory", lambda: (None, None))
    assert module.usable_memory() is None
