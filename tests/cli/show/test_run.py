"""`spanwise show run`."""

import json

from spanwise.cli.main import main


def test_a_finished_run_tells_state_losses_and_time(run, capsys):
    assert main(["show", "run", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "finished" in printed and "mlm" in printed and "forward" in printed


def test_a_program_gets_the_same_as_json(run, capsys):
    assert main(["show", "run", str(run), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["state"] == "finished" and record["step"] == 4
    assert record["checkpoints"] and record["final"]


def test_a_folder_without_a_run_is_bad_data(tmp_path, capsys):
    assert main(["show", "run", str(tmp_path)]) == 3
    assert str(tmp_path) in capsys.readouterr().err
