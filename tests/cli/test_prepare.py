"""`spanwise prepare`."""

import json
import threading

import fsspec
import numpy as np

from spanwise.cli.main import main
from spanwise.data.token_store import TokenStore
from spanwise.runtime.files import read_manifest


def test_a_store_is_made_that_holds_every_token(world, tmp_path, capsys):
    arguments = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    assert main([*arguments, "--out", str(tmp_path / "store"), "--processes", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    store = TokenStore.open(tmp_path / "store")
    assert record["num_tokens"] == store.num_tokens > 5_000
    assert record["num_documents"] == store.num_documents == 60


def test_text_is_read_in_a_thread_of_its_own(world, tmp_path, monkeypatch):
    """Reading and splitting takes as long as encoding, so that the two overlap."""
    threads = []

    def watched(documents, paths, gauge):
        for document in documents:
            threads.append(threading.current_thread())
            yield document

    monkeypatch.setattr("spanwise.cli.prepare.watched", watched)
    arguments = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    assert main([*arguments, "--out", str(tmp_path / "store")]) == 0
    assert len(threads) == 60 and threading.current_thread() not in threads[1:]  # the first is looked at before


def test_text_that_lies_elsewhere_gives_the_same_store(world, tmp_path, capsys):
    text = world.folder / "text.txt"
    fsspec.filesystem("memory").pipe("memory://cli-prepare/text.txt", text.read_bytes())
    for given, out in ((str(text), "here"), ("memory://cli-prepare", "elsewhere")):
        command = ["prepare", given, "--tokenizer", str(world.folder / "tokenizer"), "--out", str(tmp_path / out)]
        assert main(command) == 0
    assert read_manifest(tmp_path / "elsewhere") == read_manifest(tmp_path / "here")
    assert main(["prepare", "memory://cli-none", *command[2:]]) == 3
    assert "memory://cli-none does not exist" in capsys.readouterr().err


def test_bytes_that_are_not_utf8_stop_it_and_errors_replace_goes_on(world, tmp_path, capsys):
    text = tmp_path / "latin.txt"
    text.write_bytes(b"Denver won.\nCaf\xe9 lost.\n")
    arguments = ["prepare", str(text), "--tokenizer", str(world.folder / "tokenizer"), "--out", str(tmp_path / "store")]
    assert main(arguments) == 3
    told = capsys.readouterr().err
    assert "latin.txt" in told and "2" in told and "--errors replace" in told
    assert main([*arguments, "--errors", "replace"]) == 0


def test_phrases_of_a_file_are_stored_and_masked(world, tiny, tmp_path, capsys):
    """From character spans to a run that hides them; no spaCy is asked for."""
    text, spans, store = tmp_path / "text.txt", tmp_path / "spans.jsonl", str(tmp_path / "store")
    lines = ["Denver won the game.", "The team of Carolina lost."] * 40
    text.write_text("\n\n".join(lines))
    phrases = [{"text": lines[0], "spans": [[0, 6]]}, {"text": lines[1], "spans": [[12, 20]]}]
    spans.write_text("\n".join(map(json.dumps, [*phrases, {"text": "no such sentence", "spans": []}])))
    call = ["prepare", str(text), "--tokenizer", str(world.folder / "tokenizer"), "--out", store]
    assert main([*call, "--tag", "entities", "--tags", str(spans)]) == 0
    told = capsys.readouterr().out
    assert "Tagged entities: file spans.jsonl" in told and "1 records of" in told
    opened = TokenStore.open(store)
    tags = opened.gather_side("entities", opened.sentence_offsets[:-1], opened.sentence_lengths)
    assert f"; {np.count_nonzero(tags)} tokens\n" in told
    tags = opened.gather_side("entities", opened.sentence_offsets[:1], opened.sentence_lengths[:1])
    assert tags[0] == 1 and tags.max() <= 2 and opened.side_arrays["entities"].startswith("file spans.jsonl")
    recipe = tmp_path / "entities.py"
    recipe.write_text(
        "from dataclasses import replace\nfrom spanwise.pretraining.masking import TaggedPhrases\n"
        "from spanwise.recipes import spanbert_tiny\n\n"
        "def tagged():\n    return replace(spanbert_tiny(), masking=TaggedPhrases(phrase_share=1.0))\n"
    )
    train = [
        "pretrain",
        f"{recipe}:tagged",
        *tiny,
        "--set",
        "training.max_steps=2",
        "--set",
        "training.max_tokens=null",
    ]
    assert main([*train, "--data", store, "--out", str(tmp_path / "run")]) == 0
    assert main([*train, "--data", str(world.folder / "store"), "--out", str(tmp_path / "other")]) == 3
    assert "spanwise prepare --tag entities" in capsys.readouterr().err


def test_spans_of_paragraphs_find_their_sentences_and_those_across_two_are_counted(world, tmp_path, capsys):
    text, spans, store = tmp_path / "text.txt", tmp_path / "spans.jsonl", str(tmp_path / "store")
    paragraph = "Denver won the game. The team of Carolina lost."
    text.write_text(paragraph)
    spans.write_text(json.dumps({"text": paragraph, "spans": [[0, 6], [33, 41], [11, 29]]}))
    call = ["prepare", str(text), "--tokenizer", str(world.folder / "tokenizer"), "--out", store]
    assert main([*call, "--tag", "entities", "--tags", str(spans)]) == 0
    told = capsys.readouterr().out
    assert "were not met" not in told and "1 spans of" in told and "cross the border of two sentences" in told
    opened = TokenStore.open(store)
    assert opened.num_sentences == 2
    tags = opened.gather_side("entities", opened.sentence_offsets[:2], opened.sentence_lengths)
    assert tags[0] == 1 and np.count_nonzero(tags == 1) == 2


def test_how_to_tag_without_what_is_refused(world, tmp_path, capsys):
    call = ["prepare", str(world.folder / "text.txt"), "--tokenizer", str(world.folder / "tokenizer")]
    for arguments, words in [
        (["--tagger", "en_core_web_sm"], "say what: --tag"),
        (["--tag", "entities"], "--tag entities --tagger"),
        (["--tag", "nouns", "--tagger", "x"], "noun-phrases"),
    ]:
        assert main([*call, "--out", str(tmp_path / "store"), *arguments]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


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
