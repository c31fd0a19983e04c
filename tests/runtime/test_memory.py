"""Memory is counted as the system counts it."""

from spanwise.runtime.memory import peak_resident_bytes, resident_bytes


def test_memory_that_is_used_is_seen():
    before = resident_bytes()
    held = bytearray(b"x") * 50_000_000
    after, peak = resident_bytes(), peak_resident_bytes()

    assert len(held) == 50_000_000
    assert after - before > 40_000_000
    assert peak >= after - 1_000_000 > 0
