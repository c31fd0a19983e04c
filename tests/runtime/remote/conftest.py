"""A file system that fails, waits or cuts files as a test says, and a run folder to upload from."""

import io
import uuid
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from spanwise.runtime.files import atomic_folder
from spanwise.runtime.remote import upload


class FaultyFileSystem(MemoryFileSystem):
    """Memory behind `fault(path, what)`, which may raise, wait, or say after how many bytes the line breaks."""

    protocol = "faulty"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    fault = staticmethod(lambda path, what: None)
    log: ClassVar[list] = []  # every (what, path), in order

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).replace("faulty://", "memory://"))

    def _ask(self, path, what):
        self.log.append((what, path))
        return type(self).fault(path, what)

    def _open(self, path, mode="rb", **options):
        num_bytes = self._ask(path, "write" if "w" in mode else "read")
        opened = super()._open(path, mode, **options)
        if num_bytes is not None:

            def write(block):
                io.BytesIO.write(opened, bytes(block)[:num_bytes])
                raise ConnectionError("the line is dead")

            opened.write = write
        return opened

    def exists(self, path, **options):
        self._ask(self._strip_protocol(path), "look")
        return super().exists(path, **options)

    def rm(self, path, **options):
        self._ask(self._strip_protocol(path), "remove")
        super().rm(path, **options)


@pytest.fixture
def faulty(monkeypatch):
    """The class, behind faulty://, without a fault and a log for each test; uploads look at their folder often."""
    monkeypatch.setattr(upload, "SECONDS", 0.01)
    monkeypatch.setattr(FaultyFileSystem, "fault", FaultyFileSystem.fault)
    monkeypatch.setattr(FaultyFileSystem, "log", [])
    fsspec.register_implementation("faulty", FaultyFileSystem, clobber=True)
    return FaultyFileSystem


@pytest.fixture
def address(faulty):
    return f"faulty://bucket-{uuid.uuid4().hex[:8]}/run"


@pytest.fixture
def here(tmp_path):
    """A run folder without a checkpoint."""
    folder = tmp_path / "here"
    (folder / "checkpoints").mkdir(parents=True)
    small = {"run.json": "{}", "recipe.json": '{"a": 1}', "plan.jsonl": "plan\n", "metrics.jsonl": "1\n"}
    for name, text in small.items():
        (folder / name).write_text(text)
    (folder / "LOCK").touch()
    (folder / ".tmp-plan.jsonl").touch()
    (folder / "word-vectors.safetensors").touch()
    return folder


@pytest.fixture
def save():
    """A function that commits a folder of a run: save(run, name, text)."""

    def commit(folder, name, text):
        with atomic_folder(folder / name, existing="replace") as made:
            (made / "training").mkdir()
            (made / "training" / "state.json").write_text(text)
            (made / "model.bin").write_bytes(text.encode() * 1_000)

    return commit
