"""`spanwise quickstart`: its options; the job itself is tested in tests/quickstart."""

import json
import os
import signal
import urllib.request
from types import SimpleNamespace

import pytest

from spanwise.cli.main import main
from spanwise.weights import shipped_folder


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--budget", "soon"], 2, "20min"),
        (["--budget", "1s"], 2, "budget"),
        (["nowhere.txt"], 3, "nowhere.txt"),
        (["--page-language", "fr"], 2, "ko"),
        (["--from-scratch", "--init", "no such model"], 4, "no such model"),
        (["--init", "no such model"], 2, "--from-scratch"),
    ],
)
def test_what_cannot_work_is_refused_at_once(arguments, status, words, tmp_path, capsys):
    assert main(["quickstart", *arguments, "--out", str(tmp_path / "out")]) == status
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told


def test_a_folder_that_is_not_empty_is_not_written_over(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("keep me")
    assert main(["quickstart", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "mine.txt").read_text() == "keep me"
    assert str(tmp_path) in capsys.readouterr().err


def test_serve_opens_the_page_of_a_text_until_ctrl_c(monkeypatch, tmp_path, capsys):
    """The job itself is left out; the server, its page with the person's text, and Ctrl-C are the real ones."""
    (tmp_path / "mine.txt").write_text("Ada built a bridge.\n")
    result = SimpleNamespace(qa_model=shipped_folder("spanwise-nano-ko"))
    monkeypatch.setattr("spanwise.quickstart.run.quickstart", lambda *texts, **options: result)
    monkeypatch.setenv("DISPLAY", ":0")
    shown = []

    def visit(address: str) -> bool:
        with urllib.request.urlopen(f"{address}/v1/models", timeout=30) as answer:
            shown.append(json.loads(answer.read())["start"])
        os.kill(os.getpid(), signal.SIGINT)
        return True

    monkeypatch.setattr("webbrowser.open", visit)
    assert main(["quickstart", str(tmp_path / "mine.txt"), "--serve", "--out", str(tmp_path / "out")]) == 0
    assert shown == ["Ada built a bridge."]
    assert "Serving at http://127.0.0.1:" in capsys.readouterr().out
