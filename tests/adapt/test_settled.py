"""What a run settled is kept, and another call is named."""

from dataclasses import replace

import fsspec
import pytest

from spanwise.adapt.settled import SETTLED_NAME, Settled, hash_of_files
from spanwise.adapt.texts import SourceText, TextFacts
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.text.corpus import CorpusOptions
from spanwise.weights.learned_from import Origin

FACTS = TextFacts(num_documents=30, num_characters=900, by_parts=False, clusters=(1, 2))
SETTLED = Settled(asked={"start": "a", "options": {"seed": 0}}, new_pieces=("mill",), own=FACTS, general=FACTS)


def test_it_is_read_as_it_was_written_and_a_damaged_file_is_named(tmp_path):
    assert Settled.read(tmp_path) is None
    SETTLED.write(tmp_path)
    assert Settled.read(tmp_path) == SETTLED
    edited = (tmp_path / SETTLED_NAME).read_text().replace('"num_documents": 30', '"num_documents": 31')
    for damage in ("{", "[]", "{}", "[" * 30_000, edited):
        (tmp_path / SETTLED_NAME).write_text(damage)
        with pytest.raises(CheckpointError, match=r"adapt\.json is damaged"):
            Settled.read(tmp_path)


def test_another_call_is_refused_with_what_differs():
    SETTLED.refuse_other({"start": "a", "options": {"seed": 0}})
    with pytest.raises(ConfigError, match="start: a -> b"):
        SETTLED.refuse_other({"start": "b", "options": {"seed": 0}})
    with pytest.raises(ConfigError, match=r"differs \(options\.seed: 0 -> 1\)"):  # and nothing that is the same
        SETTLED.refuse_other({"start": "a", "options": {"seed": 1}})


def test_what_a_call_that_goes_on_does_not_say_of_its_texts_is_taken_from_the_first_one(tmp_path):
    said = Origin(licence="CC BY 4.0", source="A wiki", file="wiki.txt")
    replace(SETTLED, origins=(said, said)).write(tmp_path)
    silent = SourceText(name="t", texts=["general.txt"], corpus=CorpusOptions())
    other = replace(silent, origin=Origin(licence="CC0"))
    known = Settled.read(tmp_path)
    assert [text.origin for text in known.with_origins(silent, other)] == [said, replace(said, licence="CC0")]
    assert SETTLED.with_origins(silent, other) == [silent, other]  # a record of an earlier version


def test_the_hash_is_of_the_contents_of_all_files(tmp_path):
    for name, text in (("a.txt", "one"), ("b.txt", "two")):
        (tmp_path / name).write_text(text)
    both = hash_of_files([tmp_path])
    assert both == hash_of_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    (tmp_path / "b.txt").write_text("three")
    assert hash_of_files([tmp_path]) != both
    with pytest.raises(DataError, match="nowhere"):
        hash_of_files([tmp_path / "nowhere.txt"])


def test_text_on_another_machine_has_the_hash_of_a_copy_here(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    with fsspec.open("memory://hashed/a.txt", "w") as file:
        file.write("one")
    assert hash_of_files(["memory://hashed/a.txt"]) == hash_of_files([tmp_path / "a.txt"])
