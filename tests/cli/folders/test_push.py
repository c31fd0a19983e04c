"""`spanwise push` says where a model went, and what to do where it did not go."""

import json

from spanwise.cli.main import main
from spanwise.runtime.files import atomic_folder


def test_a_model_is_pushed_and_its_address_told(tmp_path, hub, capsys):
    with atomic_folder(tmp_path / "run" / "final") as folder:
        (folder / "config.json").write_text("{}")
        (folder / "README.md").write_text("# A model\n")
    assert main(["push", str(tmp_path / "run"), "someone/model", "--private"]) == 0
    said = capsys.readouterr().out
    assert f"3 files are at {hub.address}/someone/model" in said and 'spanwise.load("someone/model")' in said
    assert hub.repositories["someone/model"].private

    assert main(["push", str(tmp_path / "run"), "someone/model", "--revision", "trial", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repository"] == "someone/model"


def test_a_folder_that_is_not_ours_ends_with_the_status_of_checkpoints(tmp_path, hub, capsys):
    (tmp_path / "config.json").write_text("{}")
    assert main(["push", str(tmp_path), "someone/model"]) == 4
    assert "has no manifest.json" in capsys.readouterr().err
