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


def test_a_format_shows_real_sequences_with_their_labels(world, capsys):
    store = str(world.folder / "store")
    call = ["show", "store", store, "--format", "sentence-pair", "--set", "max_length=48", "--examples", "4"]
    assert main(call) == 0
    printed = capsys.readouterr().out
    assert printed.count("[CLS]") == 4 and printed.count("[SEP]") == 8
    assert "Labels" in printed and ("label 0: next" in printed or "label 1: random" in printed)
    assert main([*call, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["format"]["part"] == "sentence_pair" and record["format"]["max_length"] == 48
    assert len(record["examples"]) == 4 and record["longest"] <= 48
    assert {stretch["segment"] for stretch in record["examples"][0]["stretches"]} == {0, 1, 2}


def test_wrong_formats_and_values_are_refused_with_the_nearest_name(world, capsys):
    store = str(world.folder / "store")
    for arguments, words in [
        (["--format", "sentence-pears"], "sentence-pair"),
        (["--format", "sentence-pair", "--set", "max_lenght=48"], "max_length"),
        (["--set", "max_length=48"], "--format NAME"),
        (["--examples", "5"], "--format NAME"),
        (["--seed", "1"], "--format NAME"),
        (["--epoch", "1"], "--format NAME"),
        (["--format", "single-segment", "--examples", "0"], "from 1 to"),
    ]:
        assert main(["show", "store", store, *arguments]) == 2
        assert words in capsys.readouterr().err


def test_a_folder_that_is_no_store_is_bad_data(tmp_path, capsys):
    assert main(["show", "store", str(tmp_path)]) == 3
    assert str(tmp_path) in capsys.readouterr().err
