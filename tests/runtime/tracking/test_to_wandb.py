"""Weights & Biases gets every number once, in one run, also offline."""

import struct
from types import SimpleNamespace

import pytest


def test_a_resumed_run_goes_on_in_the_same_run(
    tmp_path, stand_in, stopped_and_resumed, expected, rows, monkeypatch, capsys
):
    class Run:
        def __init__(self, name):
            self.id = name

        def define_metric(self, name, **options): ...

        def log(self, numbers):
            step = numbers.pop("step")
            rows.numbers += [((step, name), value) for name, value in numbers.items()]

        def finish(self):
            rows.closed.append(self.id)

    def init(**options):
        print("wandb says hello")
        rows.opened.append(options)
        return Run(options["id"])

    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    stand_in("wandb", init=init, Settings=SimpleNamespace)
    stopped_and_resumed(tmp_path / "runs" / "qa", "wandb")

    first, second = rows.opened
    assert first["id"] == second["id"] and second["resume"] == "allow"
    assert (first["project"], first["name"], first["config"]) == ("spanwise", "runs-qa", {"seed": 3})
    assert first["dir"] == str(tmp_path / "runs" / "qa") and rows.closed == [first["id"]] * 2
    assert dict(rows.numbers) == expected and len(rows.numbers) == len(expected)
    assert capsys.readouterr().out == ""  # standard output is for results


def records_in(data: bytes) -> list[bytes]:
    """Return the records of a .wandb file: a log as LevelDB writes it, after 7 bytes, in blocks of 32 KiB."""
    found, place = [], 7
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        assert kind == 1  # a whole record: this run is too small for others
        found.append(data[place + 7 : place + 7 + length])
        place += 7 + length
    return found


@pytest.mark.slow
def test_the_real_one_writes_them_offline(tmp_path, stopped_and_resumed, expected, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    stopped_and_resumed(tmp_path / "run", "wandb")

    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # its other process has then written all
    names = {name for _, name in expected}
    found, runs = [], set()
    for file in (tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb"):
        for record in map(Record.FromString, records_in(file.read_bytes())):
            if record.HasField("run"):
                runs.add(record.run.run_id)
            items = {"/".join(item.nested_key) or item.key: float(item.value_json) for item in record.history.item}
            step = items.pop("step", None)
            found += [((int(step), name), value) for name, value in items.items() if name in names]
    assert len(runs) == 1
    assert dict(found) == expected and len(found) == len(expected)
