"""The fixture `hub`: this process asks a hub on loopback, keeps what it gets in a cache of the test, with a token."""

import huggingface_hub
import pytest
from loopback_hub import TOKEN, LoopbackHub


@pytest.fixture
def hub(tmp_path, monkeypatch):
    running = LoopbackHub()
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "ENDPOINT", running.address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", running.address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield running
    running.stop()
