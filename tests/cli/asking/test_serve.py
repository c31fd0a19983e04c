"""`spanwise serve`: from the command to a page and back."""

import os
import signal
import threading
import time
import urllib.request

import pytest

from spanwise.cli.asking.serve import SCREENS, _open_page, check_installed
from spanwise.cli.main import main
from spanwise.serving.server import listen


@pytest.mark.slow
def test_it_serves_the_shipped_model_until_it_is_told_to_stop(capsys):
    with listen("127.0.0.1", 0) as at:
        port = at.getsockname()[1]
    found = []

    def visit() -> None:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                    found.append(answer.read())
                break
            except OSError:
                time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=visit)
    thread.start()
    status = main(["serve", "--port", str(port), "--precision", "fp32"])
    thread.join()
    said = capsys.readouterr().out
    assert status == 0 and b"<title>spanwise</title>" in found[0]
    assert f"Serving at http://127.0.0.1:{port}" in said and "spanwise-mini: question-answering" in said


def test_what_is_wrong_is_said_before_anything_is_loaded(capsys, tmp_path):
    with listen("127.0.0.1", 0) as at:
        assert main(["serve", "--port", str(at.getsockname()[1])]) == 2
    assert "Choose another --port" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--port", "0"]) == 4
    assert main(["serve", "--waiting", "0"]) == 2


def test_missing_packages_are_named(monkeypatch, capsys):
    check_installed()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert "pip install 'spanwise[serve]'" in capsys.readouterr().err


def test_a_machine_without_a_screen_is_told_the_address(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setattr("sys.platform", "linux")
    for name in SCREENS:
        monkeypatch.delenv(name, raising=False)
    _open_page("http://here")
    assert not opened and "http://here is the page" in capsys.readouterr().out
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    _open_page("http://here")
    assert opened == ["http://here"] and not capsys.readouterr().out
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    _open_page("http://here")
    assert "no browser" in capsys.readouterr().out
