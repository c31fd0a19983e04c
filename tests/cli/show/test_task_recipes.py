"""`spanwise show recipe TASK`."""

import json

from spanwise.cli.main import main


def test_a_tasks_recipes_say_what_follows_from_the_encoder(capsys):
    assert main(["show", "recipe", "tagging"]) == 0
    printed = capsys.readouterr().out
    usual, paper = (next(line for line in printed.splitlines() if line.split()[:1] == [n]) for n in ("tags", "bert"))
    assert usual.split()[1:] == ["auto", "num_epochs=auto", "32", "auto"]
    assert paper.split()[1:4] == ["3e-5", "num_epochs=3", "32"] and "the encoder's" in paper
    assert "auto: by the encoder's shape, the number of examples and what the model knows" in printed.replace("\n", " ")
    changes = ["--set", "training.learning_rate=2e-3", "--set", "training.max_steps=7"]
    assert main(["show", "recipe", "tagging", "--json", *changes]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["name"] for record in records] == ["tags", "bert"]
    training = records[0]["recipe"]["training"]
    assert (training["learning_rate"], training["num_epochs"], training["max_steps"]) == (2e-3, None, 7)
