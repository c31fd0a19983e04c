"""A user's text is divided once and for all: each sentence is read or measured, never both, never neither."""

import unicodedata

import pytest

from spanwise.errors import DataError
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.texts_in import CorpusReader, learn_vocabulary, parts_of, prepare_stores
from spanwise.text.corpus import CorpusOptions, Document


def write(path, num_documents, paragraphs=3):
    documents = [
        "\n".join(f"Document {d} has a paragraph {p} about bridge {d * 7 + p}." for p in range(paragraphs))
        for d in range(num_documents)
    ]
    path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return path


def sentences(documents):
    return [sentence for document in documents for sentence in document.sentences]


@pytest.mark.parametrize(("num_documents", "paragraphs"), [(200, 2), (2, 400)])
def test_every_sentence_is_on_exactly_one_side(tmp_path, num_documents, paragraphs):
    path = write(tmp_path / "a.txt", num_documents, paragraphs)
    with open_bundle() as bundle:
        reader = CorpusReader([path], bundle, CorpusOptions(), budget=60)
        read, held_out = (sentences(reader.documents(held_out=part)) for part in (False, True))

    assert not set(read) & set(held_out)
    assert len(read) + len(held_out) == num_documents * paragraphs
    assert 0.01 < len(held_out) / len(read) < 0.2


def test_copies_of_a_document_stay_on_one_side(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join(f"The same story number {d % 50}." for d in range(400)), encoding="utf-8")
    with open_bundle() as bundle:
        reader = CorpusReader([path], bundle, CorpusOptions(), budget=60)

        assert not set(sentences(reader.documents(held_out=True))) & set(sentences(reader.documents(held_out=False)))


def test_text_beyond_the_budget_is_not_read_and_this_is_known(tmp_path):
    path = write(tmp_path / "a.txt", 100, 20)
    with open_bundle() as bundle:
        reader = CorpusReader([path], bundle, CorpusOptions(), budget=60)
        reader.max_characters = 3_000
        short = sentences(reader.documents(held_out=False))

    assert reader.is_cut
    assert 1_000 < sum(map(len, short)) < 5_000


def test_stores_are_made_of_the_two_sides(tmp_path):
    path = write(tmp_path / "a.txt", 150)
    with open_bundle() as bundle:
        reader = CorpusReader([path], bundle, CorpusOptions(), budget=60)
        tokenizer = learn_vocabulary(reader, tmp_path / "tokenizer", vocab_size=200, max_length=64)
        prepared, report = prepare_stores(reader, tokenizer, tmp_path)

    assert prepared.source == "files" and not prepared.is_cut
    assert prepared.train.num_tokens == report.num_tokens
    assert prepared.train.num_documents + prepared.valid.num_documents == 150


def test_too_little_text_is_named_with_the_cure(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One sentence.\n", encoding="utf-8")
    with open_bundle() as bundle:
        reader = CorpusReader([path], bundle, CorpusOptions(), budget=60)
        tokenizer = learn_vocabulary(CorpusReader([write(tmp_path / "b.txt", 9)], bundle, CorpusOptions(), 60),
                                     tmp_path / "tokenizer", vocab_size=100, max_length=64)  # fmt: skip
        with pytest.raises(DataError, match=r"too short|empty|No text|no text"):
            prepare_stores(reader, tokenizer, tmp_path / "out")


def test_parts_keep_all_sentences_in_order():
    document = Document("f", 1, [str(n) for n in range(23)])

    parts = list(parts_of([document]))

    assert [len(part.sentences) for part in parts] == [10, 10, 3]
    assert sentences(parts) == document.sentences


def test_the_korean_bundle_is_split_by_korean_rules_and_its_vocabulary_composes(tmp_path):
    with open_bundle("ko") as bundle:
        reader = CorpusReader([], bundle, CorpusOptions(language="ko"), budget=60)
        held_out = sentences(reader.documents(held_out=True))
        path = tmp_path / "a.txt"
        path.write_text("\n".join(held_out[:60]), encoding="utf-8")
        small = CorpusReader([path], bundle, CorpusOptions(language="ko"), budget=60)
        tokenizer = learn_vocabulary(small, tmp_path / "tokenizer", vocab_size=3_000, max_length=64)
    assert len(held_out) > 300 and sum(sentence.endswith("다.") for sentence in held_out) > len(held_out) / 2
    sentence = held_out[0]
    assert (tokenizer.encode(unicodedata.normalize("NFD", sentence)).ids == tokenizer.encode(sentence).ids).all()
