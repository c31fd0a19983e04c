"""`spanwise prepare`."""

import json

from spanwise.cli.main import main
from spanwise.data.token_store import TokenStore


def test_a_store_is_made_that_holds_every_token(world, tmp_path, capsys):
    arguments = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    assert main([*arguments, "--out", str(tmp_path / "store"), "--processes", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    store = TokenStore.open(tmp_path / "store")
    assert record["num_tokens"] == store.num_tokens > 5_000
    assert record["num_documents"] == store.num_documents == 60


def test_bytes_that_are_not_utf8_stop_it_and_errors_replace_goes_on(world, tmp_path, capsys):
    text = tmp_path / "latin.txt"
    text.write_bytes(b"Denver won.\nCaf\xe9 lost.\n")
    arguments = ["prepare", str(text), "--tokenizer", str(world.folder / "tokenizer"), "--out", str(tmp_path / "store")]
    assert main(arguments) == 3
    told = capsys.readouterr().err
    assert "latin.txt" in told and "2" in told and "--errors replace" in told
    assert main([*arguments, "--errors", "replace"]) == 0


def test_a_folder_that_exists_is_not_written_over(world, tmp_path, capsys):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "mine.txt").write_text("keep me")
    arguments = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    assert main([*arguments, "--out", str(tmp_path / "store")]) == 2
    assert (tmp_path / "store" / "mine.txt").read_text() == "keep me"
    assert "store" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(world, capsys):
    arguments = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    assert main([*arguments, "--out", "/proc/no/store"]) == 1
    told = capsys.readouterr().err
    assert "/proc/no" in told and "Traceback" not in told


def test_morphemes_are_stored_beside_the_tokens(world, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("학교에서 공부를 했다.\n" * 3, encoding="utf-8")
    arguments = ["prepare", str(text), "--tokenizer", str(world.folder / "tokenizer"), "--out", str(tmp_path / "store")]
    assert main([*arguments, "--tag", "morphemes", "--language", "ko"]) == 0
    assert "Tagged morphemes: kiwipiepy" in capsys.readouterr().out
    assert set(TokenStore.open(tmp_path / "store").side_arrays) == {"morphemes"}
    assert main([*arguments, "--tag", "verbs"]) == 2
    assert "nothing tags 'verbs'" in capsys.readouterr().err
