"""`spanwise learn-tokenizer`."""

import json

from spanwise.cli.main import main
from spanwise.text.tokenizers import Tokenizer


def test_a_vocabulary_is_learned_and_can_be_loaded(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("The Denver team won.\nThe Carolina team lost.\n" * 20)
    out = tmp_path / "tokenizer"
    assert main(["learn-tokenizer", str(text), "--vocab-size", "120", "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    tokenizer = Tokenizer.load(out)
    assert record["vocab_size"] == tokenizer.vocab_size <= 120
    assert record["sha256"] == tokenizer.sha256
    assert tokenizer.is_cased


def test_uncased_is_one_option_and_a_small_text_is_said_to_be_small(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("Denver won.\n" * 9)
    assert main(["learn-tokenizer", str(text), "--vocab-size", "500", "--uncased", "--out", str(tmp_path / "t")]) == 0
    assert "500 were asked for" in capsys.readouterr().out
    assert not Tokenizer.load(tmp_path / "t").is_cased


def test_no_text_is_wrong_use_and_empty_text_is_bad_data(tmp_path, capsys):
    assert main(["learn-tokenizer", "--out", str(tmp_path / "t")]) == 2
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    assert main(["learn-tokenizer", str(empty), "--out", str(tmp_path / "t")]) == 3
    assert "empty.txt" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
