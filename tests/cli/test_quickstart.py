"""`spanwise quickstart`: its options; the job itself is tested in tests/quickstart."""

import pytest

from spanwise.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--budget", "soon"], 2, "20min"),
        (["--budget", "1s"], 2, "budget"),
        (["nowhere.txt"], 3, "nowhere.txt"),
        (["--page-language", "fr"], 2, "ko"),
        (["--from-scratch", "--init", "no such model"], 4, "no such model"),
        (["--init", "no such model"], 2, "--from-scratch"),
    ],
)
def test_what_cannot_work_is_refused_at_once(arguments, status, words, tmp_path, capsys):
    assert main(["quickstart", *arguments, "--out", str(tmp_path / "out")]) == status
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told


def test_a_folder_that_is_not_empty_is_not_written_over(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("keep me")
    assert main(["quickstart", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "mine.txt").read_text() == "keep me"
    assert str(tmp_path) in capsys.readouterr().err
