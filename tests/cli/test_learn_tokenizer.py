"""`spanwise learn-tokenizer`."""

import json
import unicodedata

import pytest

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
    assert "no more that occur 2 times (500 were asked for)" in capsys.readouterr().out
    assert not Tokenizer.load(tmp_path / "t").is_cased
    command = ["learn-tokenizer", str(text), "--vocab-size", "500", "--kind", "unigram", "--out", str(tmp_path / "u")]
    assert main(command) == 0  # which does not count how often its pieces occur
    assert "The text has no more (500 were asked for)." in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_kind_that_lower_cases_keeps_case_where_it_is_told_so(kind, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("The Denver team won.\nThe Carolina team lost.\n" * 20)
    arguments = ["learn-tokenizer", str(text), "--kind", kind, "--vocab-size", "300", "--out", str(tmp_path / "t")]
    assert main([*arguments, "--uncased=false"]) == 0
    assert "cased pieces" in capsys.readouterr().out and Tokenizer.load(tmp_path / "t").is_cased
    assert main(["learn-tokenizer", "--help"]) == 0
    assert "--uncased=false keeps case" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_no_text_is_wrong_use_and_empty_text_is_bad_data(tmp_path, capsys):
    assert main(["learn-tokenizer", "--out", str(tmp_path / "t")]) == 2
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    assert main(["learn-tokenizer", str(empty), "--out", str(tmp_path / "t")]) == 3
    assert "empty.txt" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("kind", ["wordpiece", "byte-bpe", "bpe", "unigram"])
def test_every_kind_is_one_option(kind, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("The Denver team won.\nThe Carolina team lost.\n" * 20)
    arguments = ["learn-tokenizer", str(text), "--kind", kind, "--vocab-size", "300", "--out", str(tmp_path / "t")]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unknown_share"] == 0.0
    tokenizer = Tokenizer.load(tmp_path / "t")
    assert tokenizer.is_cased == (kind in ("wordpiece", "byte-bpe"))
    assert tokenizer.decode(tokenizer.encode("the team").ids).strip() == "the team"


def test_korean_is_composed_cut_at_morphemes_and_its_unknown_share_is_told(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("학교에서 공부를 했다. 친구는 학교를 갔다.\n" * 20, encoding="utf-8")
    arguments = ["learn-tokenizer", str(text), "--language", "ko", "--boundaries", "morphemes", "--vocab-size", "120"]
    assert main([*arguments, "--out", str(tmp_path / "t")]) == 0
    assert "[UNK] is 0.000% of the tokens" in capsys.readouterr().out
    tokenizer = Tokenizer.load(tmp_path / "t")
    assert tokenizer.tokens(tokenizer.encode(unicodedata.normalize("NFD", "학교를")).ids) == ["학교", "##를"]
    assert main([*arguments, "--alphabet-size", "5", "--out", str(tmp_path / "small")]) == 0
    assert "[UNK] is 0.000%" not in capsys.readouterr().out
    assert main([*arguments, "--alphabet-size", "90", "--out", str(tmp_path / "more")]) == 2
    assert "alphabet_size=90 needs 180 pieces" in capsys.readouterr().err
