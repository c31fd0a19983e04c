"""The command: its status, and what it prints."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from spanwise.cli.main import main


def test_broken_documents_are_told_by_the_exit_status_and_the_others_are_read(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(b"Bob Dylan sang in Paris.\n\nBad \xff.\n")
    asked = ["extract", str(tmp_path / "a.txt"), "--models", "spanwise-mini", "--tasks", "tagging", "--processes", "1"]
    assert main([*asked, "--json", "--out", str(tmp_path / "out.jsonl")]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["num_documents"], record["num_broken"], record["num_errors"]) == (2, 1, 1)
    assert "Dylan" in (tmp_path / "out.jsonl").read_text()
    assert main([*asked, "--errors", "replace", "--out", str(tmp_path / "all.jsonl")]) == 0
    assert "Read 2 documents" in capsys.readouterr().out
    assert main([*asked, "--max-line-mb", "0", "--out", str(tmp_path / "none.jsonl")]) == 2


def test_what_is_counted_is_what_was_read(tmp_path, capsys):
    """Empty files hold no document, a file cut in its archive is none, and one is said as one."""
    good = tmp_path / "a.txt"
    good.write_text("Bob Dylan sang.")
    asked = ["extract", "--models", "spanwise-mini", "--tasks", "tagging", "--processes", "1", "--out"]
    assert main([*asked, str(tmp_path / "one.jsonl"), str(good)]) == 0
    said = capsys.readouterr().out
    assert "Read 1 document in" in said and " per second): 1 row in" in said

    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"Ada sang.\n" * 9)[:-12])
    (tmp_path / "bad.jsonl").write_text('{"text": 3}\n{"text": "Ada Byron wrote."}\n')
    assert (
        main([*asked, str(tmp_path / "more.jsonl"), *map(str, tmp_path.glob("*.txt*")), str(tmp_path / "bad.jsonl")])
        == 3
    )
    said = capsys.readouterr().out
    assert "Read 2 of 3 documents in" in said and "2 entries about what could not be read: " in said

    shutil.copy(good, tmp_path / "same.txt")
    assert main([*asked, str(tmp_path / "twice.jsonl"), str(good), str(tmp_path / "same.txt")]) == 0
    assert "Read 2 documents in" in capsys.readouterr().out  # with the same text: both are listed
    assert main([*asked, str(tmp_path / "given.jsonl"), str(good), str(good)]) == 2
    assert "is named twice" in capsys.readouterr().err


@pytest.mark.slow
def test_a_job_that_was_stopped_and_then_killed_ends_in_the_bytes_of_one_that_was_not(tmp_path):
    """SIGTERM leaves with status 75, `kill -9` with nothing said; the same command goes on from both."""
    text = tmp_path / "a.txt"
    text.write_text("\n\n".join(f"Bob Dylan sang in Paris {n} times. Ada heard him." for n in range(64 * 12)))
    asked = ["extract", str(text), "--models", "spanwise-mini", "--tasks", "tagging", "--processes", "1"]
    asked += ["--precision", "fp32", "--out"]
    out = tmp_path / "out.jsonl"

    def run_until(number: int, kind: int) -> int:
        """Send a signal once so many shards are done, and return the exit status."""
        process = subprocess.Popen([sys.executable, "-m", "spanwise", *asked, str(out)], stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 120
            while len(list(tmp_path.glob("out.jsonl.work/shard-*.json"))) < number and time.monotonic() < end:
                time.sleep(0.005)
            process.send_signal(kind)
            return process.wait(60)
        finally:
            process.kill()

    assert run_until(1, signal.SIGTERM) == 75 and not out.exists()
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("out.jsonl.work/shard-*.json")}
    assert 1 <= len(kept) < 12
    assert run_until(len(kept) + 1, signal.SIGKILL) == -signal.SIGKILL and not out.exists()
    left = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("out.jsonl.work/shard-*.json")}
    assert kept.items() <= left.items() and len(left) < 12  # what was done was not done again
    assert main([*asked, str(out)]) == 0
    assert main([*asked, str(tmp_path / "whole.jsonl")]) == 0
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
