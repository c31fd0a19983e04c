"""The command: its status, and what it prints."""

import json

from spanwise.cli.main import main


def test_broken_documents_are_told_by_the_exit_status_and_the_others_are_read(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(b"Bob Dylan sang in Paris.\n\nBad \xff.\n")
    asked = ["extract", str(tmp_path / "a.txt"), "--models", "spanwise-mini", "--tasks", "tagging", "--processes", "1"]
    assert main([*asked, "--json", "--out", str(tmp_path / "out.jsonl")]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["num_documents"], record["num_errors"]) == (2, 1)
    assert "Dylan" in (tmp_path / "out.jsonl").read_text()
    assert main([*asked, "--errors", "replace", "--out", str(tmp_path / "all.jsonl")]) == 0
    assert "Read 2 documents" in capsys.readouterr().out
