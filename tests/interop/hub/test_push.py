"""A finished model goes to the hub with its card, whole or not at all, and comes back as it was."""

import json

import huggingface_hub
import pytest

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.interop.hub.push import push
from spanwise.interop.sources import find_folder
from spanwise.runtime.files import atomic_folder, verify_folder

FILES = {
    "README.md": b"---\ntags:\n- spanwise\n---\n# A model\n",
    "config.json": b"{}",
    "model.safetensors": b"weights of a model",
    "tasks/qa/changes.safetensors": b"changes",
    "training/optimizer.safetensors": b"what a run goes on from",
}


@pytest.fixture
def model(tmp_path):
    """A folder as our checkpoints are: under a manifest, with training state."""
    with atomic_folder(tmp_path / "model") as folder:
        for name, content in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return tmp_path / "model"


def test_all_but_the_training_state_arrives_and_comes_back(model, hub):
    pushed = push(model, "someone/model", private=True)

    there = hub.repositories["someone/model"]
    sent = {name: content for name, content in FILES.items() if not name.startswith("training/")}
    assert (
        there.private and {**sent, "manifest.json": there.branches["main"]["manifest.json"]} == there.branches["main"]
    )
    assert set(pushed.files) == set(there.branches["main"])
    assert (pushed.repository, pushed.address) == ("someone/model", f"{hub.address}/someone/model")
    verify_folder(find_folder("someone/model"))


def test_an_edited_card_goes_along_and_a_second_push_replaces_files(model, hub):
    push(model, "someone/model")
    (model / "README.md").write_text("# My own words\n")
    push(model, "someone/model")

    assert hub.repositories["someone/model"].branches["main"]["README.md"] == b"# My own words\n"
    verify_folder(find_folder("someone/model"))


def test_a_revision_is_a_branch_of_its_own(model, hub):
    push(model, "someone/model", revision="trial")
    branches = hub.repositories["someone/model"].branches
    assert "config.json" in branches["trial"] and not branches["main"]
    push(model, "someone/model", revision="trial")  # a branch that is there


@pytest.mark.parametrize("damage", ["edited", "missing", "no manifest"])
def test_a_folder_that_fails_its_manifest_is_refused_before_anything_is_asked(model, hub, damage):
    if damage == "edited":
        (model / "config.json").write_text("[]")
    else:
        (model / {"missing": "model.safetensors", "no manifest": "manifest.json"}[damage]).unlink()
    name = {"edited": "config.json differs", "missing": "model.safetensors is missing", "no manifest": "never finished"}
    with pytest.raises(CheckpointError, match=name[damage]):
        push(model, "someone/model")
    assert hub.asked == []


def test_what_is_no_folder_and_no_name_is_refused(model, hub):
    with pytest.raises(CheckpointError, match="is no folder"):
        push("my-model", "someone/model")
    with pytest.raises(CheckpointError, match=r"comes with the package.*spanwise convert spanwise-mini FOLDER"):
        push("spanwise-mini", "someone/model")
    with pytest.raises(ConfigError, match="owner/name"):
        push(model, "some one/model")
    assert hub.asked == []


def test_without_a_token_one_is_told_how_to_get_it(model, hub, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    with pytest.raises(ConfigError, match=r"hf auth login.*HF_TOKEN"):
        push(model, "someone/model")


def test_a_token_without_the_right_to_write_is_told(model, hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    with pytest.raises(ConfigError, match=r"may not write to someone/model \(status 403"):
        push(model, "someone/model")


def test_no_network_and_offline_mode_are_told(model, hub, monkeypatch):
    hub.stop()
    with pytest.raises(SpanwiseError, match="the hub can't be reached"):
        push(model, "someone/model")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="HF_HUB_OFFLINE"):
        push(model, "someone/model")


def test_the_manifest_that_arrives_lists_what_arrives(model, hub):
    push(model, "someone/model")
    manifest = json.loads(hub.repositories["someone/model"].branches["main"]["manifest.json"])
    assert set(manifest["manifest"]["files"]) == {name for name in FILES if not name.startswith("training/")}
