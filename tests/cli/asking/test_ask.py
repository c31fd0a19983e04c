"""`spanwise ask`: answers, and one sentence with the right exit status for whatever a person can do wrong."""

import json
import signal
import subprocess
import sys

import pytest

from spanwise.cli.asking import ask as command
from spanwise.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_text("The university was founded in 1850 by Anna Miller, who gave her house to it.\n")
    return str(folder)


QUESTION = "When was the university founded?"


def test_answers_are_shown_marked_with_their_place(folder, capsys):
    assert main(["ask", folder, QUESTION, "--threshold", "0"]) == 0
    said = capsys.readouterr().out
    assert QUESTION in said and "a.txt:1" in said and "founded in >>1850<< by" in said


def test_questions_of_a_file_follow_those_of_the_line(folder, tmp_path, capsys):
    (tmp_path / "q.txt").write_text("Who gave her house?\n\nZzyx qwv?\n")
    arguments = ["ask", folder, QUESTION, "--questions", str(tmp_path / "q.txt"), "--threshold", "0", "--top", "2"]
    assert main([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["question"] for one in record["questions"]] == [QUESTION, "Who gave her house?", "Zzyx qwv?"]
    assert [one["found"] for one in record["questions"]] == [True, True, False]
    first = record["questions"][0]["answers"][0]
    assert first["answer"] == "1850" and first["file"] == "a.txt" and first["line"] == 1
    assert main(arguments) == 0
    assert "Nothing found" in capsys.readouterr().out


def test_what_is_wrong_is_told_in_a_sentence_with_its_status(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.txt").write_bytes("\uc11c\uc6b8".encode("euc-kr"))
    (tmp_path / "none.txt").write_text("\n \n")
    for arguments, status, words in (
        ([folder], 2, "no question was asked"),
        ([folder, "--questions", str(tmp_path / "none.txt")], 3, "holds no question"),
        ([folder, "--questions", str(tmp_path / "missing.txt")], 3, "does not exist"),
        ([str(tmp_path / "empty"), QUESTION], 3, "nothing to read"),
        ([str(tmp_path / "missing"), QUESTION], 3, "does not exist"),
        ([str(tmp_path / "bad"), QUESTION], 3, "--errors replace"),
        ([folder, QUESTION, "--model", str(tmp_path / "empty")], 4, "empty"),
        ([folder, " "], 3, "question is empty"),
        ([folder, QUESTION, "--threshold", "2"], 2, "threshold"),
        ([folder, QUESTION, "--top", "0"], 2, "top"),
    ):
        assert main(["ask", *arguments]) == status, arguments
        said = capsys.readouterr().err
        assert words in said and "Traceback" not in said, said


def test_what_is_left_out_is_noted_beside_the_answers(folder, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("The university was founded in 1850.")
    (tmp_path / "b.docx").write_bytes(b"nothing")
    assert main(["ask", str(tmp_path), QUESTION, "--threshold", "0", "--errors", "replace"]) == 0
    said = capsys.readouterr()
    assert "Note: left out:" in said.err and "b.docx" in said.err and "1850" in said.out


def test_an_interrupt_says_what_became_of_the_index(folder, monkeypatch, capsys):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_open", interrupted)
    assert main(["ask", folder, QUESTION]) == 130
    assert "whole or not at all" in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_the_command_quietly(folder):
    arguments = [sys.executable, "-m", "spanwise", "ask", folder, *[QUESTION] * 30, "--threshold", "0"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stderr
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() in (141, -signal.SIGPIPE) and "Traceback" not in said
