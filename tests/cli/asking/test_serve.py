"""`spanwise serve`: from the command to a page and back."""

import contextlib
import os
import signal
import threading
import time
import urllib.request

import pytest

from spanwise.cli.asking.serve import SCREENS, _open_page, check_installed, serve_models
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


@pytest.mark.parametrize(
    ("key", "words"), [("", "is empty"), (" \n", "is empty"), ("schlüssel", "ASCII"), ("a\nb", "ASCII")]
)
def test_a_key_that_no_client_can_send_is_refused(monkeypatch, capsys, key, words):
    monkeypatch.setenv("SPANWISE_API_KEY", key)
    assert main(["serve", "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert words in said and "SPANWISE_API_KEY" in said


def test_the_key_is_stripped_and_no_request_has_more_inputs_than_may_wait(monkeypatch):
    made = {}
    monkeypatch.setattr("spanwise.serving.models.open_models", lambda *args: {})
    monkeypatch.setattr("spanwise.serving.app.make_app", lambda opened, **options: made.update(options))
    monkeypatch.setattr("spanwise.serving.server.run", lambda *args: None)
    serve_models((), port=0, api_key="abc\n", waiting=8)
    assert made["api_key"] == "abc" and (made["limits"].inputs, made["limits"].waiting) == (8, 8)
    serve_models((), port=0)
    assert made["api_key"] is None and made["limits"].inputs == 64


def test_int8_beside_a_gpu_is_computed_where_its_models_are(monkeypatch):
    asked = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("spanwise.serving.models.open_models", lambda *args: {})
    monkeypatch.setattr("spanwise.serving.app.make_app", lambda opened, **options: None)
    monkeypatch.setattr("spanwise.serving.server.run", lambda *args: None)
    monkeypatch.setattr(
        "spanwise.serving.workers.answerers_for",
        lambda device, *args: asked.append(device) or contextlib.nullcontext(),
    )
    serve_models((), port=0, precision="int8")
    assert asked == ["cpu"]
