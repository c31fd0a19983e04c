"""Whatever fails, hangs or cuts files at the address: training goes on, and what is believed there is whole."""

import os
import threading
import time

import pytest

from spanwise.errors import ConfigError, SpanwiseError
from spanwise.runtime.files import remove_folder
from spanwise.runtime.remote import upload
from spanwise.runtime.remote.fetch import fetch_lost_run
from spanwise.runtime.remote.upload import kept_elsewhere

SMALL = ("manifest.json", "run.json", "recipe.json", "plan.jsonl", "metrics.jsonl")
OF_A_MODEL = ("manifest.json", "model.bin", "training/state.json")


def step(number):
    return f"checkpoints/step-{number:09d}"


def manifest(number):
    return f"{step(number)}/manifest.json"


def files_at(address, faulty):
    root = address.removeprefix("faulty:/")
    return {name.removeprefix(f"{root}/") for name in list(faulty.store) if name.startswith(root)}


def until(condition):
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def fetched(address, folder):
    fetch_lost_run(folder, address, resume=True, say=lambda _: None)
    return sorted(path.parent.name for path in folder.glob("checkpoints/*/manifest.json"))


def test_checkpoints_records_and_the_model_go_there_and_what_is_retired_here_is_retired_there(
    here, address, faulty, save
):
    with kept_elsewhere(here, address):
        (here / "checkpoints" / ".tmp-step-000000001").mkdir()
        save(here, step(1), "one")
        until(lambda: manifest(1) in files_at(address, faulty))
        save(here, "best", "best")
        save(here, step(2), "two")
        remove_folder(here / step(1))
        until(lambda: manifest(2) in files_at(address, faulty))
        save(here, "final", "model")
        (here / "dev_scores.json").write_text("{}")  # written when the model is there
    whole = {f"{name}/{file}" for name in (step(2), "best/step-000000002", "final") for file in OF_A_MODEL}
    records = {f"records/{name}/{file}" for name in ("step-000000002", "final") for file in SMALL}
    assert files_at(address, faulty) == {"run.json", "records/final/dev_scores.json", *whole, *records}


def test_what_makes_a_checkpoint_valid_goes_last(here, address, faulty, save):
    with kept_elsewhere(here, address):
        save(here, "best", "best")
        save(here, step(1), "one")
    written = [path for what, path in faulty.log if what == "write"]
    assert written[-1].endswith(manifest(1)) and "/best/" not in "".join(written[-3:])
    for folder in ("records/", "best/"):
        assert [path for path in written if folder in path][-1].endswith("manifest.json")


@pytest.mark.parametrize("num_bytes", [0, 2])
def test_wherever_an_upload_is_cut_what_is_fetched_is_whole(here, address, faulty, save, tmp_path, num_bytes):
    with kept_elsewhere(here, address):
        save(here, "best", "best of one")
        save(here, step(1), "one")
    faulty.log.clear()
    save(here, "best", "best of two")
    save(here, step(2), "two")
    (here / "plan.jsonl").write_text("plan\nlonger\n")
    num_files, found = len(SMALL) + 2 * len(OF_A_MODEL), []
    for cut in range(num_files):

        def dies(path, what, cut=cut):
            writes = [where for did, where in faulty.log if did == "write"]
            return num_bytes if what == "write" and len(writes) > cut else None

        faulty.fault = staticmethod(dies)
        with pytest.raises(SpanwiseError, match="the line is dead"), kept_elsewhere(here, address, say=lambda _: None):
            pass
        faulty.fault = staticmethod(lambda path, what: None)
        new = tmp_path / f"new-{cut}"
        found += fetched(address, new)
        assert (new / "best" / "model.bin").read_bytes() == b"best of one" * 1000
        assert (new / "plan.jsonl").read_text() == "plan\n"
        faulty.log.clear()
    with kept_elsewhere(here, address):
        pass
    assert found == ["step-000000001"] * num_files and fetched(address, tmp_path / "whole") == ["step-000000002"]
    assert (tmp_path / "whole" / "best" / "model.bin").read_bytes() == b"best of two" * 1000


def test_a_step_that_was_done_again_is_never_taken_with_what_belongs_to_the_other(
    here, address, faulty, save, tmp_path
):
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
        until(lambda: manifest(1) in files_at(address, faulty))
        save(here, step(2), "two")
    save(here, step(2), "two again")
    (here / "plan.jsonl").write_text("plan\nlonger\n")
    faulty.log.clear()

    def dies_after_the_records(path, what):
        if path.endswith(manifest(2)) and any("records/" in sent and did == "write" for did, sent in faulty.log):
            raise ConnectionError("the line is dead")

    faulty.fault = staticmethod(dies_after_the_records)
    with pytest.raises(SpanwiseError, match="the line is dead"), kept_elsewhere(here, address, say=lambda _: None):
        pass
    faulty.fault = staticmethod(lambda path, what: None)
    assert fetched(address, tmp_path / "new") == ["step-000000001"]


def test_while_an_upload_hangs_training_goes_on_and_only_the_newest_that_waits_is_sent(here, address, faulty, save):
    hanging, released, at_once, most = threading.Event(), threading.Event(), [], []

    def hangs(path, what):
        at_once.append(path)
        most.append(len(at_once))
        if path.endswith(f"{step(1)}/model.bin") and what == "write":
            hanging.set()
            assert released.wait(20)
        at_once.remove(path)

    faulty.fault = staticmethod(hangs)
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
        assert hanging.wait(20)
        for number in (2, 3):
            save(here, step(number), "more")  # comes back although nothing is sent
            remove_folder(here / step(number - 1))
        released.set()
        until(lambda: manifest(3) in files_at(address, faulty))
    assert max(most) == 1
    assert not any(step(2) in path for what, path in faulty.log if what == "write")
    assert {name.split("/")[1] for name in files_at(address, faulty) if "step-" in name} == {"step-000000003"}


def test_a_checkpoint_that_is_retired_while_it_is_sent_arrives_whole(here, address, faulty, save, tmp_path):
    def retire_first(path, what):
        if what == "write" and (here / step(1)).exists():
            remove_folder(here / step(1))

    faulty.fault = staticmethod(retire_first)
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
        until(lambda: manifest(1) in files_at(address, faulty))
    assert not (here / step(1)).exists() and fetched(address, tmp_path / "new") == ["step-000000001"]


def test_best_weights_that_are_replaced_while_they_are_opened_are_opened_again(
    here, address, save, tmp_path, monkeypatch
):
    save(here, "best", "old")
    fstat, replaced = os.fstat, []

    def replace_first(descriptor):
        if os.path.samestat(fstat(descriptor), (here / "best" / "manifest.json").stat()) and not replaced:
            replaced.append(1)
            save(here, "best", "new")
        return fstat(descriptor)

    monkeypatch.setattr(upload.os, "fstat", replace_first)
    with kept_elsewhere(here, address):
        save(here, step(1), "one")
    monkeypatch.undo()
    assert replaced and fetched(address, tmp_path / "back") == ["step-000000001"]
    assert (tmp_path / "back" / "best" / "model.bin").read_bytes() == b"new" * 1000


def test_a_checkpoint_is_not_sent_without_best_weights_that_the_run_has(here, address, faulty, save):
    save(here, "best", "best")
    told = []
    with pytest.raises(SpanwiseError, match="best is not whole"), kept_elsewhere(here, address, say=told.append):
        remove_folder(here / "best")  # as for a moment while they are replaced
        save(here, step(1), "one")
    assert manifest(1) not in files_at(address, faulty) and any("best is not whole" in words for words in told)


def test_a_failed_upload_is_told_with_its_cause_and_the_next_checkpoint_is_tried(here, address, faulty, save):
    told = []
    with kept_elsewhere(here, address, say=told.append):
        faulty.fault = staticmethod(lambda path, what: 2 if what == "write" and path.endswith("model.bin") else None)
        save(here, step(1), "one")
        until(lambda: told)
        time.sleep(0.1)  # many looks at the folder
        faulty.fault = staticmethod(lambda path, what: None)
        save(here, step(2), "two")
        until(lambda: manifest(2) in files_at(address, faulty))
    failed = [words for words in told if "failed" in words]
    assert len(failed) == 1 and manifest(1) not in files_at(address, faulty)
    assert f"{step(1)} to faulty://" in failed[0] and "dead; the next checkpoint is tried again" in failed[0]


def test_what_failed_before_is_tried_once_more_at_the_end(here, address, faulty, save):
    told = []
    faulty.fault = staticmethod(lambda path, what: 0 if what == "write" else None)
    with kept_elsewhere(here, address, say=told.append):
        save(here, step(1), "one")
        until(lambda: told)
        faulty.fault = staticmethod(lambda path, what: None)
    assert manifest(1) in files_at(address, faulty)


def test_a_file_that_arrives_shorter_without_an_error_is_noticed(here, address, faulty, save, monkeypatch):
    monkeypatch.setattr(upload.shutil, "copyfileobj", lambda source, target, size: target.write(source.read(1)))
    told = []
    with pytest.raises(SpanwiseError, match="has 1 bytes, and"), kept_elsewhere(here, address, say=told.append):
        save(here, step(1), "one")
    assert not any(name.endswith("manifest.json") and "checkpoints" in name for name in files_at(address, faulty))


def test_at_the_end_it_is_said_what_is_not_there_and_a_failed_run_keeps_its_own_error(here, address, faulty, save):
    def dies(path, what):
        if what == "write":
            raise ConnectionError("the line is dead")

    faulty.fault = staticmethod(dies)
    with pytest.raises(KeyError, match="mine"), kept_elsewhere(here, address, say=lambda _: None):
        save(here, step(1), "one")
        raise KeyError("mine")
    save(here, "final", "model")
    lacks = rf"whole in .*here, but not at faulty://.*lacks final \(the line is dead\); {step(1)} \(the line is dead\)"
    with pytest.raises(SpanwiseError, match=lacks) as raised, kept_elsewhere(here, address, say=lambda _: None):
        pass
    assert raised.value.exit_status == 1
    faulty.fault = staticmethod(lambda path, what: None)
    with kept_elsewhere(here, address):
        pass  # the same command again
    assert {manifest(1), "final/manifest.json"} <= files_at(address, faulty)


def test_old_checkpoints_that_cannot_be_removed_are_told_and_no_failure(here, address, faulty, save):
    def keeps(path, what):
        if what == "remove":
            raise PermissionError("may not be removed")

    told = []
    faulty.fault = staticmethod(keeps)
    with kept_elsewhere(here, address, say=told.append):
        save(here, step(1), "one")
        until(lambda: manifest(1) in files_at(address, faulty))
        save(here, step(2), "two")
        remove_folder(here / step(1))
    assert manifest(1) in files_at(address, faulty) and any("may not be removed" in words for words in told)


def test_as_many_are_kept_there_as_here_also_where_some_never_arrived(here, address, faulty, save):
    def kept_there():
        return sorted({int(name.split("/")[1][5:]) for name in files_at(address, faulty) if "step-" in name})

    told = []
    with kept_elsewhere(here, address, say=told.append):
        save(here, step(1), "one")
        until(lambda: manifest(1) in files_at(address, faulty))
        faulty.fault = staticmethod(lambda path, what: 0 if what == "write" else None)
        for number in (2, 3):
            save(here, step(number), "more")
            until(lambda number=number: any(f"{step(number)} to" in words for words in told))
        remove_folder(here / step(1))
        faulty.fault = staticmethod(lambda path, what: None)
        save(here, step(4), "more")
        remove_folder(here / step(2))  # two are kept here: 3 and 4
        until(lambda: kept_there() == [1, 4])
        save(here, step(5), "more")
        remove_folder(here / step(3))
    assert kept_there() == [4, 5]


def test_a_folder_that_is_behind_removes_nothing_newer_and_a_fetched_run_nothing_before_it_sent_more(
    here, address, faulty, save, tmp_path
):
    with kept_elsewhere(here, address):
        save(here, step(4), "four")
        until(lambda: manifest(4) in files_at(address, faulty))
        save(here, step(5), "five")
    behind = tmp_path / "behind"
    assert fetched(address, behind) == ["step-000000005"]
    with kept_elsewhere(behind, address):
        time.sleep(0.1)
    assert {manifest(4), manifest(5)} <= files_at(address, faulty)
    remove_folder(behind / step(5))
    save(behind, step(2), "two")
    with kept_elsewhere(behind, address):
        pass
    assert {manifest(2), manifest(4), manifest(5)} <= files_at(address, faulty)


def test_a_folder_is_no_address(here, tmp_path):
    with pytest.raises(ConfigError, match="is no address"):
        kept_elsewhere(here, str(tmp_path)).__enter__()
    with kept_elsewhere(here, None):
        assert not [thread for thread in threading.enumerate() if thread.name == "upload"]
