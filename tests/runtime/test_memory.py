"""Memory is counted as the system counts it."""

import platform

import numpy as np

from spanwise.runtime.memory import peak_resident_bytes, resident_bytes, return_freed_memory


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
