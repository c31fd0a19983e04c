"""Loops are compiled once, and none of them needs what numba takes seconds to compile."""

import os
import subprocess
import sys
import time

import pytest

from spanwise.pretraining.warm import compile_loops

LISTENING = """
import numba.core.event as event

class Names(event.Listener):
    def __init__(self):
        self.open = []
    def on_start(self, one):
        self.open.append(one.data["dispatcher"].py_func)
        if self.open[-1].__module__ == "numba.cpython.unicode":
            print("text", *(f"{each.__module__}.{each.__name__}" for each in self.open))
    def on_end(self, one):
        self.open.pop()

event.register("numba:compile", Names())
from spanwise.pretraining.warm import compile_loops
compile_loops()
"""


@pytest.mark.slow
def test_no_loop_assigns_an_array_or_a_pair_to_a_part_of_another(tmp_path):
    """numba then compiles what would write the message of an error about their shapes, for two seconds: a first step
    waits for that. Assign in a loop, or number by number."""
    kept = {"NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LISTENING], env={**os.environ, **kept}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("text")] == []


def test_the_second_time_costs_next_to_nothing():
    compile_loops()
    began = time.process_time()
    compile_loops()
    warm = time.process_time() - began
    assert warm < 2.0  # CPU seconds; compiling takes ten
