"""A committed folder elsewhere is believed by its manifest alone, whatever cut or damaged the copy."""

import multiprocessing
import uuid

import fsspec
import pytest

from spanwise.errors import DataError
from spanwise.runtime.files import atomic_folder, read_manifest
from spanwise.runtime.remote import mirror
from spanwise.runtime.remote.mirror import local_copy
from spanwise.runtime.remote.paths import RemotePath

CONTENT = {"a.bin": b"a" * 10_000, "inner/b.bin": b"b" * 10_000, "store.json": b"{}"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(mirror.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def remote(tmp_path):
    """A committed folder in fsspec's memory."""
    name = f"memory://bucket-{uuid.uuid4().hex[:8]}/store"
    put(tmp_path, name, CONTENT)
    return RemotePath(name)


def put(tmp_path, name, content):
    with atomic_folder(tmp_path / "local", existing="replace") as folder:
        (folder / "inner").mkdir()
        for file, data in content.items():
            (folder / file).write_bytes(data)
    fsspec.filesystem("memory").put(str(tmp_path / "local") + "/", name, recursive=True)


def test_a_copy_is_what_lies_there_and_is_used_again(remote, cache, monkeypatch):
    copy = local_copy(remote)
    assert {name: (copy / name).read_bytes() for name in read_manifest(copy)} == CONTENT
    monkeypatch.setattr(mirror, "fetch_file", None)
    assert local_copy(remote) == copy


def test_a_folder_that_changed_is_copied_anew(remote, cache, tmp_path):
    first = local_copy(remote)
    put(tmp_path, str(remote), CONTENT | {"a.bin": b"other"})
    second = local_copy(remote)
    assert (
        first != second and (second / "a.bin").read_bytes() == b"other" and (first / "a.bin").stat().st_size == 10_000
    )


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_file_that_is_not_what_the_manifest_says_is_refused_and_the_next_try_goes_on(remote, cache, damage):
    system, place = remote.at()
    whole = system.cat(f"{place}/inner/b.bin")
    system.rm(f"{place}/inner/b.bin")
    if damage != "missing":
        system.pipe(f"{place}/inner/b.bin", whole[:-1] if damage == "cut" else b"c" + whole[1:])
    with pytest.raises(DataError, match=r"memory://.*inner/b.bin is"):
        local_copy(remote)
    (copy,) = cache.iterdir()
    assert [path.name for path in copy.rglob("*") if path.is_file()] == ["a.bin"]
    before = (copy / "a.bin").stat().st_mtime_ns
    system.pipe(f"{place}/inner/b.bin", whole)
    assert local_copy(remote) == copy and (copy / "a.bin").stat().st_mtime_ns == before


def test_a_folder_without_a_manifest_or_with_a_damaged_one_is_refused(remote, cache):
    system, place = remote.at()
    system.pipe(f"{place}/manifest.json", system.cat(f"{place}/manifest.json").replace(b"a.bin", b"c.bin"))
    with pytest.raises(DataError, match="does not match its own hash"):
        local_copy(remote)
    system.rm(f"{place}/manifest.json")
    with pytest.raises(DataError, match="was never finished"):
        local_copy(remote)
    assert not cache.exists()


def _copy(name):
    return str(local_copy(RemotePath(name)))


def test_processes_that_ask_at_once_get_one_whole_copy(cache, tmp_path):
    with atomic_folder(tmp_path / "there") as folder:
        (folder / "a.bin").write_bytes(b"a" * 1_000_000)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(_copy, [f"file://{tmp_path}/there"] * 6)
    assert len(set(found)) == 1 and len(list(cache.iterdir())) == 1
    assert sorted(path.name for path in next(cache.iterdir()).iterdir()) == ["a.bin", "manifest.json"]
