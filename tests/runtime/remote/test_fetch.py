"""What comes back from an address is a whole checkpoint with what belongs to it, the one before, or a plain word."""

import shutil
import time

import pytest

from spanwise.errors import CheckpointError, ConfigError, FolderInUseError, SpanwiseError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import verify_folder
from spanwise.runtime.lock import folder_lock
from spanwise.runtime.remote import fetch
from spanwise.runtime.remote.fetch import fetch_lost_run
from spanwise.runtime.remote.upload import kept_elsewhere

ONE, TWO = "step-000000001", "step-000000002"


@pytest.fixture
def kept(here, address, faulty, save):
    """Two checkpoints at the address, each with best weights; the path of the run in the faulty file system."""
    root = address.removeprefix("faulty:/")
    with kept_elsewhere(here, address):
        for name in (ONE, TWO):
            save(here, "best", f"best of {name}")
            save(here, f"checkpoints/{name}", name)
            give_up = time.monotonic() + 20
            while f"{root}/checkpoints/{name}/manifest.json" not in faulty.store:
                assert time.monotonic() < give_up
                time.sleep(0.005)
    return root


def checkpoints(folder):
    return sorted(path.parent.name for path in folder.glob("checkpoints/*/manifest.json"))


def change(faulty, path, content):
    with faulty().open(path, "wb") as file:
        file.write(content)


def test_a_run_whose_folder_is_lost_comes_back(here, address, kept, tmp_path):
    new, told = tmp_path / "new", []
    fetch_lost_run(new, address, resume=True, say=told.append)
    assert checkpoints(new) == [TWO] and told == [f"Fetched {TWO} from {address}."]
    for name in (f"checkpoints/{TWO}", "best"):
        verify_folder(new / name)
        assert (new / name / "model.bin").read_bytes() == (here / name / "model.bin").read_bytes()
    for name in ("run.json", "recipe.json", "plan.jsonl", "metrics.jsonl"):
        assert (new / name).read_text() == (here / name).read_text()


@pytest.mark.parametrize(
    "damaged", [f"checkpoints/{TWO}/model.bin", f"best/{TWO}/model.bin", f"records/{TWO}/plan.jsonl"]
)
@pytest.mark.parametrize("how", ["changed", "cut", "gone", "unreadable"])
def test_damage_is_named_and_the_checkpoint_before_is_taken(address, faulty, kept, tmp_path, damaged, how):
    path = f"{kept}/{damaged}"
    content = bytes(faulty.store[path].getvalue())
    if how == "gone":
        faulty().rm(path)
    elif how == "unreadable":

        def fault(asked, what):
            if asked == path and what == "read":
                raise ConnectionResetError(104, "reset")  # what a disk error looks like, and is none

        faulty.fault = staticmethod(fault)
    else:
        change(faulty, path, content[:-1] if how == "cut" else content[:-1] + b"?")
    new, told = tmp_path / "new", []
    fetch_lost_run(new, address, resume=True, say=told.append)
    assert checkpoints(new) == [ONE] and f"{TWO} is not used" in told[0] and damaged in told[0]
    assert (new / "best" / "model.bin").read_bytes() == f"best of {ONE}".encode() * 1000


def test_where_no_checkpoint_is_whole_nothing_is_left_and_where_none_ever_was_the_run_begins(
    address, faulty, kept, tmp_path
):
    for name in (ONE, TWO):
        change(faulty, f"{kept}/checkpoints/{name}/model.bin", b"")
    told = []
    with pytest.raises(CheckpointError, match="none of the 2 checkpoints at faulty://"):
        fetch_lost_run(tmp_path / "new", address, resume=True, say=told.append)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["LOCK"] and len(told) == 2
    for name in (ONE, TWO):
        faulty().rm(f"{kept}/checkpoints/{name}/manifest.json")
    fetch_lost_run(tmp_path / "new", address, resume=True, say=told.append)
    assert "begins anew" in told[-1]


def test_a_fetch_that_is_cut_is_done_again(address, kept, tmp_path, monkeypatch):
    new, write = tmp_path / "new", fetch.write_atomic

    def stops(path, content):
        write(path, content)
        if path.name == "run.json":  # the last of them
            raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "write_atomic", stops)
    with pytest.raises(KeyboardInterrupt):
        fetch_lost_run(new, address, resume=True)
    monkeypatch.setattr(fetch, "write_atomic", write)
    assert (new / "run.json").exists() and not checkpoints(new)
    fetch_lost_run(new, address, resume=True)
    assert checkpoints(new) == [TWO]


def test_best_weights_that_a_checkpoint_does_not_know_are_not_left_beside_it(here, address, faulty, save, tmp_path):
    with kept_elsewhere(here, address):
        save(here, f"checkpoints/{ONE}", "one")
    new = tmp_path / "new"
    new.mkdir()
    (new / "run.json").write_text("{}")
    save(new, "best", "of a fetch that was cut")
    fetch_lost_run(new, address, resume=True)
    assert checkpoints(new) == [ONE] and not (new / "best").exists()


def test_a_full_disk_is_no_damage_at_the_address(address, kept, tmp_path, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(vars(DISK), "fsync_file", full)  # `setattr` would leave a method behind
    with pytest.raises(SpanwiseError, match="the disk is full") as raised:
        fetch_lost_run(tmp_path / "new", address, resume=True)
    assert not isinstance(raised.value, CheckpointError)


def test_an_address_that_holds_a_run_is_gone_on_with_or_left_alone(here, address, faulty, kept, tmp_path):
    with pytest.raises(ConfigError, match=r"holds a run already; go on with it by --resume"):
        fetch_lost_run(tmp_path / "other", address)
    fetch_lost_run(here, address, resume=True)  # its own run: nothing is fetched, nothing refused
    (here / "recipe.json").write_text('{"a": 2}')
    with pytest.raises(ConfigError, match="holds another run than"):
        fetch_lost_run(here, address, resume=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    fetch_lost_run(foreign, address, resume=True)
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]
    shutil.rmtree(here / "checkpoints")
    with folder_lock(here):
        pass
    fetch_lost_run(here, address, resume=True)  # begun here without a checkpoint, and gone on with there
    assert checkpoints(here) == [TWO]


def test_a_folder_that_another_run_holds_is_not_fetched_into(address, kept, tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.runtime.lock.try_lock", lambda path, flags=0: None)
    with pytest.raises(FolderInUseError):
        fetch_lost_run(tmp_path / "new", address, resume=True)


def test_an_address_out_of_reach_is_refused_unless_the_run_is_here(here, address, faulty, kept, tmp_path):
    def unreachable(path, what):
        raise ConnectionError("no route to host")

    faulty.fault = staticmethod(unreachable)
    with pytest.raises(ConfigError, match=r"cannot be reached: no route to host\. Check the address"):
        fetch_lost_run(tmp_path / "new", address, resume=True)
    told = []
    fetch_lost_run(here, address, resume=True, say=told.append)
    assert "cannot be reached now: no route to host" in told[0]
    with pytest.raises(ConfigError, match="is no address"):
        fetch_lost_run(here, str(tmp_path))
    fetch_lost_run(tmp_path / "new", None)
