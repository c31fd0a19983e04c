"""A folder appears whole or not at all: replayed over every power cut, every failing disk, every damaged byte."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from spanwise.errors import CheckpointError, ConfigError, DataError, SpanwiseError
from spanwise.runtime.disk import DiskFileSystem
from spanwise.runtime.files import (
    MANIFEST_NAME,
    append_line,
    atomic_folder,
    edited_files,
    free_bytes,
    read_manifest,
    refuse_edited,
    refuse_special,
    remove_folder,
    remove_leftovers,
    require_free_space,
    verify_folder,
    write_text_atomic,
)

sys.path.insert(0, str(Path(__file__).parent))
from crash_disk import CrashDisk, PowerCut

RUN = Path("/run/checkpoints")


def content_of(step: int) -> dict[str, bytes]:
    return {"model.bin": b"weights %d " % step * 4, "training/state.json": b'{"step": %d}' % step}


def save(disk, step: int, *, keep: int = 2, early_delete: bool = False) -> None:
    """What the training loop does with a checkpoint, on this disk."""
    old = [RUN / name for name in disk.names(RUN) if name.startswith("step-")] if hasattr(disk, "names") else []
    stale = old[: max(0, len(old) + 1 - keep)]
    if early_delete:
        for folder in stale:
            remove_folder(folder, disk)
    with atomic_folder(RUN / f"step-{step}", fs=disk) as temporary:
        disk.make_folder(temporary / "training")
        for name, content in content_of(step).items():
            disk.write_file(temporary / name, content)
    if not early_delete:
        for folder in stale:
            remove_folder(folder, disk)


def recover(disk, *, trust_names: bool = False) -> int | None:
    """The newest step whose folder verifies, as a resuming run finds it."""
    for name in sorted((n for n in disk.names(RUN) if n.startswith("step-")), reverse=True):
        try:
            if trust_names:
                disk.read_file(RUN / name / MANIFEST_NAME)
            else:
                verify_folder(RUN / name, fs=disk)
        except (SpanwiseError, OSError):
            continue
        return int(name.removeprefix("step-"))
    return None


def replay(disk_class: type, **how) -> Iterator[list[str]]:
    """Save steps 1 to 3 with a power cut at every operation; yields what went wrong in each state of the disk."""
    trust_names = how.pop("trust_names", False)
    for stop_at in count():
        disk = disk_class(stop_at)
        acknowledged = None
        try:
            disk.make_folder(RUN.parent)
            disk.fsync_folder(RUN.parent.parent)
            for step in (1, 2, 3):
                save(disk, step, **how)
                acknowledged = step
        except PowerCut:
            pass
        for state in disk.crash_states():
            broken = []
            found = recover(state, trust_names=trust_names)
            if acknowledged is not None and (found is None or found < acknowledged):
                broken.append(f"operation {stop_at}: step {acknowledged} was acknowledged, found {found}")
            for name, content in content_of(found).items() if found else ():
                if not state.exists(RUN / f"step-{found}" / name) or (
                    state.read_file(RUN / f"step-{found}" / name) != content
                ):
                    broken.append(f"operation {stop_at}: step {found} was taken with a wrong {name}")
            yield broken
        if acknowledged == 3:
            return


def test_no_power_cut_loses_an_acknowledged_checkpoint_or_passes_a_damaged_one():
    states = list(replay(CrashDisk))

    assert [broken for broken in states if broken] == []
    assert len(states) > 500


class NoFileSync(CrashDisk):
    def fsync_file(self, path):
        self._tick()


class NoManifestSync(CrashDisk):
    def fsync_file(self, path):
        self._tick() if path.name == MANIFEST_NAME else super().fsync_file(path)


class NoParentSync(CrashDisk):
    def fsync_folder(self, path):
        self._tick() if path == RUN else super().fsync_folder(path)


class NoInnerFolderSync(CrashDisk):
    def fsync_folder(self, path):
        self._tick() if path.name == "training" else super().fsync_folder(path)


class NoTemporarySync(CrashDisk):
    def fsync_folder(self, path):
        self._tick() if path.name.startswith(".tmp-") else super().fsync_folder(path)


@pytest.mark.parametrize(
    ("disk", "how"),
    [
        (NoFileSync, {}),
        (NoManifestSync, {}),
        (NoParentSync, {}),
        (NoInnerFolderSync, {}),
        (NoTemporarySync, {}),
        (CrashDisk, {"early_delete": True, "keep": 1}),
        (NoFileSync, {"trust_names": True}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_every_weaker_protocol_is_caught_by_the_same_replay(disk, how):
    assert any(replay(disk, **how))


def test_keeping_one_checkpoint_is_safe_too():
    assert not any(replay(CrashDisk, keep=1))


class FailingDisk(DiskFileSystem):
    """The real disk, on which operation number `fail_at` fails with `number`."""

    def __init__(self, fail_at: int, number: int) -> None:
        self.left, self.number = fail_at, number

    def _tick(self, path):
        self.left -= 1
        if self.left == -1:
            raise OSError(self.number, os.strerror(self.number), str(path))

    def make_folder(self, path):
        self._tick(path)
        super().make_folder(path)

    def write_file(self, path, content):
        self._tick(path)
        super().write_file(path, content)

    def fsync_file(self, path):
        self._tick(path)
        super().fsync_file(path)

    def fsync_folder(self, path):
        self._tick(path)
        super().fsync_folder(path)

    def rename(self, source, target):
        self._tick(source)
        super().rename(source, target)

    def size_and_sha256(self, path):
        self._tick(path)
        return super().size_and_sha256(path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_fails_at_any_operation_leaves_the_last_checkpoint_whole_and_no_rest(tmp_path, number):
    fill(tmp_path / "step-1", {"model.bin": b"one"})
    for fail_at in range(100):
        disk = FailingDisk(fail_at, number)
        try:
            with atomic_folder(tmp_path / "step-2", fs=disk) as temporary:
                disk.make_folder(temporary / "training")
                for name, content in content_of(2).items():
                    disk.write_file(temporary / name, content)
        except SpanwiseError as error:
            assert "step-2" in str(error) and "MB free" in str(error) and error.exit_status == 1
            verify_folder(tmp_path / "step-1")
            assert not [path for path in tmp_path.iterdir() if path.name.startswith(".tmp-")]
            if (tmp_path / "step-2").exists():  # only the last fsync failed: the folder is there, but not promised
                verify_folder(tmp_path / "step-2")
                remove_folder(tmp_path / "step-2")
        else:
            assert fail_at > 8
            return
    pytest.fail("never succeeded")


LIMITED = """
import resource, signal, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from spanwise.runtime.files import atomic_folder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
with atomic_folder(Path(sys.argv[1]) / "step-2") as folder:
    save_file({"w": torch.zeros(100_000)}, folder / "model.safetensors")
"""


def test_a_real_write_that_the_system_cuts_short_is_a_clear_error(tmp_path):
    fill(tmp_path / "step-1", {"model.bin": b"one"})

    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=60)

    assert "SpanwiseError: Cannot write" in done.stderr and "step-2" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-1"]
    verify_folder(tmp_path / "step-1")


def fill(folder: Path, files: dict[str, bytes]) -> None:
    with atomic_folder(folder) as temporary:
        for name, content in files.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_bytes(content)


def test_a_committed_folder_has_its_files_and_their_hashes(tmp_path):
    fill(tmp_path / "deep" / "store", {"a.bin": b"abc", "b/c/d.bin": b""})

    assert set(read_manifest(tmp_path / "deep" / "store")) == {"a.bin", "b/c/d.bin"}
    verify_folder(tmp_path / "deep" / "store")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["store"]


def test_a_block_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(KeyError), atomic_folder(tmp_path / "store") as temporary:
        (temporary / "a").write_text("x")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_existing_target_is_refused_or_replaced_as_asked(tmp_path):
    fill(tmp_path / "final", {"a": b"old"})
    with pytest.raises(ConfigError, match="exists already"), atomic_folder(tmp_path / "final"):
        pass
    with atomic_folder(tmp_path / "final", existing="replace") as temporary:
        (temporary / "b").write_text("new")

    assert set(read_manifest(tmp_path / "final")) == {"b"}
    assert [path.name for path in tmp_path.iterdir()] == ["final"]


def test_a_file_or_link_at_the_target_is_never_replaced_by_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with (
            pytest.raises(SpanwiseError, match="is no folder, and nothing takes its place"),
            atomic_folder(tmp_path / name, existing="replace"),
        ):
            pass
    assert (tmp_path / "link").read_text() == "mine" and len(list(tmp_path.iterdir())) == 2


def damage(folder: Path) -> dict[str, callable]:
    file, manifest = folder / "a.bin", folder / MANIFEST_NAME
    return {
        "one bit": lambda: file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:]),
        "cut": lambda: file.write_bytes(file.read_bytes()[:-1]),
        "longer": lambda: file.write_bytes(file.read_bytes() + b"x"),
        "empty": lambda: file.write_bytes(b""),
        "zeros": lambda: file.write_bytes(bytes(len(file.read_bytes()))),
        "deleted": file.unlink,
        "a folder": lambda: (file.unlink(), file.mkdir()),
        "manifest gone": manifest.unlink,
        "manifest cut": lambda: manifest.write_bytes(manifest.read_bytes()[:-20]),
        "manifest bit": lambda: manifest.write_bytes(manifest.read_bytes().replace(b'"size": 6', b'"size": 7')),
        "manifest empty": lambda: manifest.write_bytes(b""),
        "manifest list": lambda: manifest.write_text("[1, 2]"),
        "manifest deep": lambda: manifest.write_text("[" * 100_000),
    }


@pytest.mark.parametrize("kind", list(damage(Path())))
def test_every_damage_is_named_with_its_file(tmp_path, kind):
    fill(tmp_path / "store", {"a.bin": b"abcdef"})
    damage(tmp_path / "store")[kind]()

    with pytest.raises(DataError) as error:
        verify_folder(tmp_path / "store", DataError)
    assert str(tmp_path / "store") in str(error.value)


def test_edited_files_of_a_folder_that_people_may_edit_are_listed(tmp_path):
    folder = tmp_path / "model"
    fill(folder, {"config.json": b"{}", "a.bin": b"abc", "gone": b"x"})
    (folder / "gone").unlink()
    (folder / "new").write_text("more")
    names = ["config.json", "a.bin", "gone", "new"]
    assert edited_files(folder, names) == []
    (folder / "config.json").write_text("[]")
    assert edited_files(folder, names) == ["config.json"] and edited_files(folder, ["a.bin"]) == []
    (folder / MANIFEST_NAME).write_text((folder / MANIFEST_NAME).read_text().replace('"size": 3', '"size": 4'))
    assert edited_files(folder, names) == [MANIFEST_NAME]


@pytest.mark.parametrize("change", ["config.json", "tokenizer.json", "gone", MANIFEST_NAME, "no manifest"])
def test_a_folder_to_start_from_is_refused_where_a_file_differs_or_is_missing(tmp_path, change):
    folder, said = tmp_path / "model", []
    names = {"config.json": b"{}", "tokenizer.json": b"abc", "gone": b"x", "spanwise.json": b"{}", "README.md": b"a"}
    fill(folder, {**names, "training/state.json": b"1"})
    (folder / "README.md").write_text("a card that somebody wrote")
    (folder / "training" / "state.json").unlink()
    refuse_edited(folder, say=said.append)
    assert not said

    if change == "gone":
        (folder / "gone").unlink()
    elif change == "no manifest":
        (folder / MANIFEST_NAME).unlink()
        refuse_edited(folder, say=said.append)  # a folder of somebody else
        return
    else:
        (folder / change).write_text("[")
    with pytest.raises(CheckpointError, match=rf"{change} differs from what manifest.json says.*--allow-edited"):
        refuse_edited(folder, say=said.append)
    refuse_edited(folder, is_allowed=True, say=said.append)
    assert len(said) == 1 and str(folder / change) in said[0]


@pytest.mark.parametrize("theirs", ["", "[1]", "{}", '{"name": "An app", "icons": []}', "[" * 100_000])
def test_a_manifest_of_somebody_else_lists_nothing(tmp_path, theirs):
    (tmp_path / MANIFEST_NAME).write_text(theirs)
    (tmp_path / "config.json").write_text("{}")
    assert edited_files(tmp_path, ["config.json"]) == []
    assert edited_files(tmp_path / "nothing", ["config.json"]) == []


def test_a_manifest_that_names_a_file_outside_is_refused(tmp_path):
    from spanwise.runtime.files import manifest_bytes

    for name in ("../x", "/etc/passwd", "a//b", "a\\b", "."):
        (tmp_path / MANIFEST_NAME).write_bytes(manifest_bytes({name: {"size": 0, "sha256": ""}}))
        with pytest.raises(CheckpointError, match="not a file inside"):
            read_manifest(tmp_path)


def test_links_are_never_committed(tmp_path):
    with pytest.raises(SpanwiseError, match="link"), atomic_folder(tmp_path / "store") as temporary:
        (temporary / "a").symlink_to("/etc/hostname")


def test_rests_of_the_dead_are_removed_and_work_of_the_living_stays(tmp_path):
    code = (
        "import sys, time; from spanwise.runtime.files import atomic_folder\n"
        "with atomic_folder(sys.argv[1]) as folder: print(folder, flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "store")], stdout=subprocess.PIPE, text=True)
    temporary = Path(worker.stdout.readline().strip())

    assert temporary.is_dir() and remove_leftovers(tmp_path) == []
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    assert remove_leftovers(tmp_path) == [temporary]
    assert not temporary.exists()


def test_what_others_write_beside_a_target_is_no_rest_of_it(tmp_path):
    name = ".tmp-qa-{}0123456789ab".format
    (tmp_path / name("train.json-")).write_text("half a file of another writer")
    (tmp_path / ".tmp-qa-abcdef012345").write_text("half a file of the same name")
    (tmp_path / name("v2-")).mkdir()
    (tmp_path / name("")).mkdir()
    with atomic_folder(tmp_path / "qa"):
        pass
    left = {".tmp-qa-abcdef012345", name("train.json-"), name("v2-")}
    assert {path.name for path in tmp_path.iterdir()} == {"qa", *left}
    assert {path.name for path in remove_leftovers(tmp_path)} == left


def test_a_file_is_replaced_whole_and_lines_after_a_cut_one_stay_whole(tmp_path):
    write_text_atomic(tmp_path / "x" / "plan.json", "one\n")
    write_text_atomic(tmp_path / "x" / "plan.json", "two")
    append_line(tmp_path / "x" / "plan.json", "three")

    assert (tmp_path / "x" / "plan.json").read_text() == "two\nthree\n"
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["plan.json"]


def test_a_link_is_followed_and_a_pipe_is_written_to_not_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"

    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text_atomic(tmp_path / "pipe", "new")
    assert os.read(reader, 9) == b"new" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    with pytest.raises(ConfigError, match="is a device or pipe"):
        refuse_special(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["file/x", "n" * 300, "circle/x"])
def test_a_path_that_cannot_be_is_not_blamed_on_the_space_of_the_disk(tmp_path, name):
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to("circle")
    for write in (lambda path: write_text_atomic(path, "x"), lambda path: atomic_folder(path).__enter__()):
        with pytest.raises((SpanwiseError, OSError)) as found:
            write(tmp_path / name)
        assert "space" not in str(found.value) and " MB" not in str(found.value)


def test_space_is_checked_before_anything_is_written(tmp_path):
    require_free_space(tmp_path / "not" / "there", 1000)
    with pytest.raises(SpanwiseError, match="keep fewer checkpoints") as error:
        require_free_space(tmp_path, free_bytes(tmp_path) + 10**12)
    assert str(tmp_path) in str(error.value)


def test_a_name_that_is_no_utf8_can_be_written_and_read_as_it_was(tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    write_text_atomic(tmp_path / "run.json", json.dumps({"texts": [name]}, ensure_ascii=False))
    assert json.loads((tmp_path / "run.json").read_text("utf-8")) == {"texts": [name]}
