"""What a document is, which files a corpus has, and that nothing of either is lost."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError, DataError
from spanwise.text import corpus
from spanwise.text.corpus import (
    CorpusOptions,
    Document,
    _tell_passed_over,
    corpus_files,
    documents_of,
    read_documents,
)


def documents(paths, **options):
    return [document.sentences for document in read_documents(paths, CorpusOptions(**options))]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_lines_and_file_ends_are_document_borders(tmp_path):
    first = write(tmp_path / "1.txt", "\n\nA one. A two.\nA three.\n \t \nB one.\n\n\n")
    second = write(tmp_path / "2.txt", "C one.")
    assert documents([first, second]) == [["A one.", "A two.", "A three."], ["B one."], ["C one."]]


def test_a_missing_last_blank_line_or_line_end_loses_nothing(tmp_path):
    for ending in ("", "\n", "\n\n", "\r\n\r\n"):
        assert documents(write(tmp_path / "a.txt", "One.\n\nTwo." + ending)) == [["One."], ["Two."]]


def test_a_line_may_be_a_sentence(tmp_path):
    path = write(tmp_path / "a.txt", "A one. Still one.\nTwo\n\nThree\n")
    assert documents(path, lines="sentences") == [["A one. Still one.", "Two"], ["Three"]]


def test_a_json_row_is_a_document_and_its_lines_are_paragraphs(tmp_path):
    path = write(tmp_path / "a.jsonl", json.dumps({"body": "One. Two.\n\nThree."}) + "\n" + json.dumps({"body": " "}))
    assert documents(path, text_field="body") == [["One.", "Two.", "Three."]]


def test_documents_say_where_they_come_from(tmp_path):
    path = write(tmp_path / "a.txt", "\nOne.\nTwo.\n\nThree.\n")
    found = list(read_documents(path))
    assert [(document.source, document.line) for document in found] == [(str(path), 2), (str(path), 5)]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")), st.sampled_from(["paragraphs", "sentences"]))
def test_no_character_but_white_space_is_lost(tmp_path_factory, text, lines):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(text.encode())
    if not text.strip():
        with pytest.raises(DataError, match=r"empty: .*a\.txt"):
            documents(path)
        return
    found = "".join(
        sentence for document in documents(path, lines=lines, unicode_form="as_is") for sentence in document
    )
    assert "".join(found.split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\r\n\u3000\n"])
def test_an_empty_corpus_is_an_error(tmp_path, text):
    with pytest.raises(DataError, match=r"The corpus is empty: .*a\.txt"):
        documents(write(tmp_path / "a.txt", text))


def test_text_written_apart_is_put_together_unless_asked_not_to(tmp_path):
    apart = unicodedata.normalize("NFD", "한국어 é.")
    path = write(tmp_path / "mac.txt", apart)
    assert documents(path) == [["한국어 é."]]
    assert documents(path, unicode_form="as_is") == [[apart]]


def test_a_long_document_comes_in_parts_that_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "MAX_DOCUMENT_CHARACTERS", 40)
    path = write(tmp_path / "a.txt", "\n".join(["A sentence of words."] * 10) + "\n\nShort.\n")
    found = list(read_documents(path))
    assert [document.ends for document in found] == [False, False, False, True, True]
    assert sum(len(document.sentences) for document in found[:4]) == 10
    assert found[4].sentences == ["Short."]


def test_folders_and_globs_are_sorted_and_hidden_or_foreign_files_left_out(tmp_path, caplog):
    _tell_passed_over.cache_clear()  # another test's folder may have had this path
    (tmp_path / "sub" / ".hidden").mkdir(parents=True)
    for name in ("b.txt", "a.txt.gz", "sub/c.jsonl", ".d.txt", "sub/.hidden/e.txt", "LICENSE", "picture.png"):
        (tmp_path / name).write_bytes(b"x")
    names = [path.relative_to(tmp_path).as_posix() for path in corpus_files(tmp_path)]
    assert names == ["a.txt.gz", "b.txt", "sub/c.jsonl"]
    corpus_files(tmp_path)
    (told,) = caplog.messages  # once, however often the folder is looked at
    assert "passed over (1 without ending, 1 .png)" in told
    assert [path.name for path in corpus_files(str(tmp_path / "*.t*"))] == ["a.txt.gz", "b.txt"]
    assert corpus_files([tmp_path / "LICENSE"]) == [tmp_path / "LICENSE"]


def test_a_name_with_brackets_is_a_name_where_it_exists(tmp_path):
    path = write(tmp_path / "a[1].txt", "One.")
    assert corpus_files(path) == [path]


def test_names_that_find_nothing_or_come_twice_are_errors(tmp_path):
    path = write(tmp_path / "a.txt", "One.")
    with pytest.raises(DataError, match=r"gone\.txt does not exist"):
        corpus_files([path, tmp_path / "gone.txt"])
    with pytest.raises(DataError, match="No file matches"):
        corpus_files(str(tmp_path / "*.xyz"))
    with pytest.raises(ConfigError, match="named twice"):
        corpus_files([path, tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no \.txt"):
        corpus_files(tmp_path / "empty")
    with pytest.raises(DataError, match="No text was given"):
        corpus_files([])


@pytest.mark.parametrize(
    "options", [{"lines": "words"}, {"errors": "ignore"}, {"unicode_form": "NFKC"}, {"text_field": ""}]
)
def test_unknown_options_are_refused(options):
    with pytest.raises(ConfigError):
        CorpusOptions(**options)


def test_a_source_is_documents_or_names_and_a_wrong_name_is_refused_before_anything_is_read(tmp_path):
    given = [Document("a", 1, ["One."]), Document("b", 1, ["Two."])]
    assert list(documents_of(iter(given))) == given and list(documents_of([])) == []
    (tmp_path / "a.txt").write_text("One. Two.\n", encoding="utf-8")
    for source in (tmp_path / "a.txt", str(tmp_path / "a.txt"), [tmp_path / "a.txt"]):
        assert [found.sentences for found in documents_of(source)] == [["One.", "Two."]]
    with pytest.raises(DataError, match="does not exist"):
        documents_of(tmp_path / "b.txt")
