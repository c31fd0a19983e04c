"""A run kept elsewhere: whatever cuts or damages an upload, what is fetched is a whole checkpoint or none."""

import shutil
import time
import uuid

import fsspec
import pytest

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.runtime.files import atomic_folder, remove_folder, verify_folder
from spanwise.runtime.remote import upload
from spanwise.runtime.remote.upload import kept_elsewhere

MEMORY = fsspec.filesystem("memory")


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(upload, "SECONDS", 0.01)
    return f"memory://bucket-{uuid.uuid4().hex[:8]}/run"


@pytest.fixture
def here(tmp_path):
    """A run folder without a checkpoint."""
    folder = tmp_path / "here"
    (folder / "checkpoints").mkdir(parents=True)
    for name, text in {"run.json": "{}", "plan.jsonl": "plan\n", "metrics.jsonl": "1\n"}.items():
        (folder / name).write_text(text)
    (folder / "LOCK").touch()
    (folder / ".tmp-plan").touch()
    return folder


def save(folder, name, text):
    with atomic_folder(folder / name, existing="replace") as made:
        (made / "training").mkdir()
        (made / "training" / "state.json").write_text(text)
        (made / "model.bin").write_bytes(text.encode() * 1_000)


def step(number):
    return f"checkpoints/step-{number:09d}"


def files_at(address):
    root = address.removeprefix("memory://")
    return {name.removeprefix(f"/{root}/") for name in MEMORY.find(address)}


def until(condition):
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def fetched(address, folder, say=print):
    with kept_elsewhere(folder, address, resume=True, say=say):
        return sorted(path.parent.name for path in folder.glob("checkpoints/*/manifest.json"))


def test_checkpoints_small_files_and_the_model_go_there_and_what_is_retired_here_is_retired_there(here, address):
    with kept_elsewhere(here, address):
        (here / "checkpoints" / ".tmp-step-000000001").mkdir()
        save(here, step(1), "one")
        until(lambda: f"{step(1)}/manifest.json" in files_at(address))
        save(here, "best", "best")
        save(here, step(2), "two")
        remove_folder(here / step(1))
        until(lambda: f"{step(2)}/manifest.json" in files_at(address))
        save(here, "final", "model")
    folders = (step(2), "best/step-000000002", "final")
    whole = {f"{name}/{file}" for name in folders for file in ("manifest.json", "model.bin", "training/state.json")}
    assert files_at(address) == {"run.json", "plan.jsonl", "metrics.jsonl", *whole}


def test_a_run_whose_folder_is_lost_comes_back(here, address, tmp_path):
    with kept_elsewhere(here, address):
        save(here, "best", "best of two")
        save(here, step(2), "two")
    told = []
    assert fetched(address, tmp_path / "new", told.append) == ["step-000000002"]
    for name in (step(2), "best"):
        verify_folder(tmp_path / "new" / name)
        assert (tmp_path / "new" / name / "model.bin").read_bytes() == (here / name / "model.bin").read_bytes()
    assert (tmp_path / "new" / "metrics.jsonl").read_text() == "1\n" and "Fetched step-000000002" in told[0]


def test_wherever_an_upload_is_cut_the_newest_whole_checkpoint_comes_back(here, address, tmp_path, monkeypatch):
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
    save(here, step(2), "two")
    send, found = upload._send_file, []
    for cut in range(6):  # three small files, and three of the checkpoint
        calls = iter(range(6))

        def dies(target, content, cut=cut, calls=calls):
            if next(calls) == cut:
                raise ConnectionError("the line is dead")
            send(target, content)

        monkeypatch.setattr(upload, "_send_file", dies)
        with pytest.raises(SpanwiseError, match="the line is dead"), kept_elsewhere(here, address, resume=True):
            pass
        monkeypatch.setattr(upload, "_send_file", send)
        found += fetched(address, tmp_path / str(cut))
    with kept_elsewhere(here, address, resume=True):
        pass
    assert found == ["step-000000001"] * 6 and fetched(address, tmp_path / "whole") == ["step-000000002"]


def test_one_that_is_damaged_there_is_named_and_the_one_before_is_taken(here, address, tmp_path):
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
        until(lambda: f"{step(1)}/manifest.json" in files_at(address))
        save(here, step(2), "two")
    MEMORY.pipe_file(f"{address}/{step(2)}/model.bin", b"TWO" + b"two" * 999)
    told = []
    assert fetched(address, tmp_path / "new", told.append) == ["step-000000001"]
    assert "step-000000002 is not used" in told[0] and "model.bin" in told[0]
    MEMORY.rm(f"{address}/{step(1)}/manifest.json")
    with pytest.raises(CheckpointError, match="without a whole checkpoint"):
        fetched(address, tmp_path / "newer")
    assert not (tmp_path / "newer" / "run.json").exists()


def test_a_checkpoint_that_is_retired_while_it_is_sent_arrives_whole(here, address, monkeypatch, tmp_path):
    send = upload._send_file

    def retire_first(target, content):
        if (here / step(1)).exists():
            remove_folder(here / step(1))
        send(target, content)

    monkeypatch.setattr(upload, "_send_file", retire_first)
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
        until(lambda: f"{step(1)}/manifest.json" in files_at(address))
    assert not (here / step(1)).exists() and fetched(address, tmp_path / "new") == ["step-000000001"]


def test_a_failed_upload_is_told_and_the_next_checkpoint_is_tried(here, address, monkeypatch):
    send, told = upload._send_file, []

    def cut(source, target, size):
        target.write(source.read(5))

    with kept_elsewhere(here, address, say=told.append):
        monkeypatch.setattr(shutil, "copyfileobj", cut)
        save(here, step(1), "one")
        until(lambda: told)
        monkeypatch.undo()
        monkeypatch.setattr(upload, "SECONDS", 0.01)
        save(here, step(2), "two")
        until(lambda: f"{step(2)}/manifest.json" in files_at(address))
    assert upload._send_file is send and len(told) == 1
    assert "failed" in told[0] and "were sent" in told[0] and "next checkpoint" in told[0]


def test_an_upload_that_fails_never_hides_why_the_run_ended(here, address, monkeypatch):
    def dies(target, content):
        raise ConnectionError("the line is dead")

    monkeypatch.setattr(upload, "_send_file", dies)
    with pytest.raises(KeyError, match="mine"), kept_elsewhere(here, address, say=lambda _: None):
        save(here, step(1), "one")
        raise KeyError("mine")
    with (
        pytest.raises(SpanwiseError, match=r"whole in .*here, but not at memory://.*the line is dead"),
        kept_elsewhere(here, address, say=lambda _: None),
    ):
        pass


def test_another_run_is_not_written_over_and_a_folder_is_no_address(here, address, tmp_path):
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
    with pytest.raises(ConfigError, match=r"holds a run already; go on with it by --resume"):
        kept_elsewhere(tmp_path / "other", address).__enter__()
    with pytest.raises(ConfigError, match="is no address"):
        kept_elsewhere(here, str(tmp_path)).__enter__()
