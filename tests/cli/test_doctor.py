"""`spanwise doctor`."""

import json

from spanwise.cli.main import main


def test_doctor_tells_what_will_be_used(capsys, tmp_path):
    assert main(["doctor", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "torch" in printed and "Precision" in printed and "Memory" in printed


def test_doctor_answers_programs(capsys):
    assert main(["doctor", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["precision"] in ("fp32", "bf16")
    assert record["num_cores"] >= 1
    assert record["missing"] == []
    assert isinstance(record["advice"], list)
