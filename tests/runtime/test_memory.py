"""Memory is counted as the system counts it."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from spanwise.runtime.memory import keep_freed_memory, peak_resident_bytes, resident_bytes, return_freed_memory


def test_memory_that_is_used_is_seen():
    return_freed_memory()  # or what is freed and not given back would hold the new bytes, and nothing grow
    before = resident_bytes()
    held = bytearray(b"x") * 50_000_000
    after, peak = resident_bytes(), peak_resident_bytes()

    assert len(held) == 50_000_000
    assert after - before > 40_000_000
    assert peak >= after - 1_000_000 > 0


def test_freed_memory_goes_back_to_the_system_where_the_c_library_can():
    blocks = [np.ones(100_000, dtype=np.uint8) for _ in range(1000)]
    kept = blocks[-1]  # what is in use above the freed blocks would hold them
    held = resident_bytes()
    blocks.clear()
    return_freed_memory()
    assert kept[0] == 1
    given_back = held - resident_bytes()
    assert given_back > 50_000_000 or platform.libc_ver()[0] != "glibc"


def test_memory_that_is_kept_is_not_taken_anew():
    """Blocks that are freed and taken again cost page faults only where malloc does not keep them."""
    program = """
import resource, sys
from spanwise.runtime.memory import keep_freed_memory
import numpy as np
import pytest
kept = sys.argv[1] == "kept" and keep_freed_memory()
for step in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(size, dtype=np.uint8) for size in (30_000_000, 20_000_000, 30_000_000, 25_000_000)]
    del blocks
print(int(kept), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    found = {}
    for name in ("plain", "kept"):
        call = [sys.executable, "-c", program, name]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
        out = subprocess.run(call, capture_output=True, text=True, check=True, timeout=120, env=environment)
        found[name] = [int(word) for word in out.stdout.split()]
    if platform.libc_ver()[0] == "glibc":
        assert found["kept"] == [1, pytest.approx(0, abs=100)] and found["plain"][1] > 1_000
    else:
        assert found["kept"][0] == 0


@pytest.mark.parametrize(
    "setting", [("MALLOC_TRIM_THRESHOLD_", "1000000"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=9999")]
)
def test_settings_of_the_user_stay(setting, monkeypatch):
    monkeypatch.setenv(*setting)
    assert not keep_freed_memory()
