"""`spanwise adapt`: its options, what it prints, and what it refuses."""

import json

import pytest

from spanwise.cli.main import main

SMALL = ["--set", "batch.tokens_per_step=256", "--set", "batch.max_tokens=256", "--set", "training.threads=1"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["spanwise-mini"], 2, "TEXT"),
        (["spanwise-mini", "nowhere.txt"], 3, "nowhere.txt does not exist"),
        (["no such model", "TEXT"], 4, "no such model"),
        (["spanwise-mini", "TEXT", "--budget", "soon"], 2, "20min"),
        (["spanwise-mini", "TEXT", "--budget", "1min", "--steps", "20"], 2, "either a budget"),
        (["spanwise-mini", "TEXT", "--replay-share", "20"], 2, "replay-share"),
        (["spanwise-mini", "TEXT", "--objective", "pictures"], 2, "objective"),
        (["spanwise-mini", "SMALL"], 3, "too small"),
        (["spanwise-mini", "TEXT", "--replay", "SMALL"], 3, "too small"),
        (["spanwise-mini", "TEXT", "--replay", "TEXT"], 2, "Name other text"),
        (["spanwise-mini", "TEXT", "--steps", "9", "--set", "training.learning_rat=1"], 2, "learning_rate"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(arguments, status, words, tiny_text, tmp_path, capsys):
    (tmp_path / "small.txt").write_text("One line.")
    names = {"TEXT": str(tiny_text), "SMALL": str(tmp_path / "small.txt")}
    given = [names.get(argument, argument) for argument in arguments]
    assert main(["adapt", *given, "--out", str(tmp_path / "out")]) == status
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_korean_text_meets_korean_general_text_and_the_record_is_json(tmp_path, capsys):
    lines = [
        f"{number}번째 마을의 오래된 다리는 {1800 + number}년에 만들었다. 강은 그 아래로 흐른다."
        for number in range(60)
    ]
    (tmp_path / "ko.txt").write_text("\n\n".join(lines), encoding="utf-8")
    call = ["adapt", "spanwise-nano-ko", str(tmp_path / "ko.txt"), "--out", str(tmp_path / "out"), "--steps", "8"]
    assert main([*call, *SMALL, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["general_text"] == "bundled Korean Wikipedia" and record["num_steps"] == 8
    assert (tmp_path / "out" / "final" / "config.json").is_file()
    assert main([*call, *SMALL, "--resume"]) == 0
    assert "of your text (60 documents), mixed with bundled Korean Wikipedia" in capsys.readouterr().out


def test_text_in_a_third_language_is_told_that_the_general_text_is_english(run, tiny_text, tmp_path, capsys):
    lines = [f"Die Brücke Nummer {n} der alten Stadt wurde im Jahr {1700 + n} gebaut." for n in range(60)]
    (tmp_path / "de.txt").write_text("\n\n".join(lines), encoding="utf-8")
    call = ["adapt", str(run / "final"), str(tmp_path / "de.txt"), "--out", str(tmp_path / "out"), "--steps", "8"]
    assert main([*call, *SMALL]) == 0
    assert "neither English nor Korean" in capsys.readouterr().out
    call[4] = str(tmp_path / "replayed")
    assert main([*call, *SMALL, "--replay", str(tiny_text)]) == 0
    told = capsys.readouterr().out
    assert "neither English nor Korean" not in told and "the general text of --replay" in told
