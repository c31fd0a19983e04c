"""`spanwise show store`."""

import json

from spanwise.cli.main import main


def test_counts_and_frequent_tokens_are_shown(world, capsys):
    assert main(["show", "store", str(world.folder / "store")]) == 0
    printed = capsys.readouterr().out
    assert "Documents" in printed and "token" in printed


def test_a_program_gets_the_same_as_json(world, capsys):
    assert main(["show", "store", str(world.folder / "store"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["num_documents"] == 60
    assert record["most_frequent"][0]["count"] >= record["most_frequent"][1]["count"]


def test_a_folder_that_is_no_store_is_bad_data(tmp_path, capsys):
    assert main(["show", "store", str(tmp_path)]) == 3
    assert str(tmp_path) in capsys.readouterr().err
