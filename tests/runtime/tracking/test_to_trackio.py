"""trackio gets every number once, in one run, on this machine."""

from types import SimpleNamespace

import pytest


def test_a_resumed_run_goes_on_in_the_same_run(tmp_path, stand_in, stopped_and_resumed, expected, rows, monkeypatch):
    def log(numbers, step):
        rows.numbers += [((step, name), value) for name, value in numbers.items()]

    def init(**options):
        rows.opened.append(options)
        return SimpleNamespace(name=options["name"], log=log, finish=lambda: rows.closed.append(options["name"]))

    monkeypatch.delenv("TRACKIO_PROJECT", raising=False)
    stand_in("trackio", init=init)
    stopped_and_resumed(tmp_path / "runs" / "qa", "trackio")

    first, second = rows.opened
    assert first["name"] == second["name"] and first["name"].startswith("runs-qa-")
    assert first["project"] == "spanwise" and second["resume"] == "allow" and rows.closed == [first["name"]] * 2
    assert dict(rows.numbers) == expected and len(rows.numbers) == len(expected)


@pytest.mark.slow
def test_the_real_one_keeps_them_on_this_machine(tmp_path, stopped_and_resumed, expected, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    stopped_and_resumed(tmp_path / "run", "trackio")

    from trackio.sqlite_storage import SQLiteStorage

    (run,) = SQLiteStorage.get_runs("spanwise")
    logs = SQLiteStorage.get_logs("spanwise", run)
    names = {name for _, name in expected}
    found = [((row["step"], name), row[name]) for row in logs for name in names & set(row)]
    assert dict(found) == expected and len(found) == len(expected)
