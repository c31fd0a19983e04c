"""The stores of an adaptation: what is trained on, what is measured, and by which vocabulary."""

import pytest

from spanwise.adapt.texts import (
    GENERAL,
    OWN,
    SourceText,
    TextFacts,
    characters_per_token,
    refuse_same,
    split_text,
    write_stores,
)
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.text.corpus import CorpusOptions
from spanwise.text.extend import extend_tokenizer
from spanwise.text.tokenizers import Tokenizer


def test_stores_hold_all_documents_but_those_that_are_measured(start, own_text, tiny_text, tmp_path):
    words = Tokenizer.load(start)
    own = split_text(OWN, SourceText(name="own", texts=[own_text], corpus=CorpusOptions()))
    general = split_text(GENERAL, SourceText(name="tiny", texts=[tiny_text], corpus=CorpusOptions()))
    facts = write_stores(tmp_path, own, general.split, words, None, 100_000)
    train, held_out = (TokenStore.open(tmp_path / name, words) for name in ("own", "own-held-out"))
    assert train.num_documents + held_out.num_documents == facts.num_documents == 60
    assert held_out.num_documents == facts.held_out_documents == sum(facts.clusters) == 8
    assert facts.num_tokens == train.num_tokens and not facts.by_parts
    assert not (tmp_path / "own-before").exists()


def test_other_files_are_measured_where_they_are_named_and_all_else_is_trained_on(start, own_text, tiny_text, tmp_path):
    words = Tokenizer.load(start)
    own = split_text(OWN, SourceText(name="own", texts=[own_text], corpus=CorpusOptions()))
    general = SourceText(name="tiny", texts=[tiny_text], held_out=[own_text], corpus=CorpusOptions())
    facts = write_stores(tmp_path, split_text(GENERAL, general), own.split, words, None, 100_000)
    assert TokenStore.open(tmp_path / "general").num_documents == facts.num_documents == 50
    assert TokenStore.open(tmp_path / "general-held-out").num_documents == 8


def test_the_old_vocabulary_measures_the_same_documents(start, own_text, tmp_path):
    old = Tokenizer.load(start)
    new = extend_tokenizer(old, ["willows"]).tokenizer
    own = split_text(OWN, SourceText(name="own", texts=[own_text], corpus=CorpusOptions()))
    write_stores(tmp_path, own, own.split, new, old, 100_000)
    held_out, before = TokenStore.open(tmp_path / "own-held-out", new), TokenStore.open(tmp_path / "own-before", old)
    assert held_out.num_documents == before.num_documents and held_out.num_tokens < before.num_tokens


def own_sizes(own):
    return [sum(map(len, document.sentences)) for document in own.held_out(10**6)]


def test_what_is_measured_ends_at_the_characters_that_were_asked_for(start, own_text, tmp_path):
    own = split_text(OWN, SourceText(name="own", texts=[own_text], corpus=CorpusOptions()))
    sizes = [sum(map(len, document.sentences)) for document in own.held_out(700)]
    assert all(size <= 110 for size in sizes) and sum(own_sizes(own)) > 2 * sum(sizes)
    assert characters_per_token(own, Tokenizer.load(start)) > 1


def test_general_text_that_is_mostly_the_own_text_is_refused(own_text, tiny_text, tmp_path):
    """By what it says, so a copy is refused too; other files to measure on tell of other text."""
    documents = own_text.read_text().split("\n\n")
    others = [f"The harbour has {n} ships and a light." for n in range(len(documents))]
    own = split_text(OWN, SourceText(name="own", texts=[own_text], corpus=CorpusOptions()))

    def general(texts, **others):
        return split_text(GENERAL, SourceText(name="other text", texts=texts, corpus=CorpusOptions(), **others))

    for name, found in (("copy", documents), ("more", [*documents, others[0]])):
        (tmp_path / f"{name}.txt").write_text("\n\n".join(found))
        with pytest.raises(ConfigError, match=r"of other text that would be measured are your own"):
            refuse_same(own, general([tmp_path / f"{name}.txt"]))
    refuse_same(own, general([own_text], held_out=[tiny_text]))
    refuse_same(own, general([tiny_text]))
    (tmp_path / "wide.txt").write_text("\n\n".join([*documents, *others, *(f"{one} It is old." for one in others)]))
    refuse_same(own, general([tmp_path / "wide.txt"]))


def test_general_text_that_is_too_small_is_named(tmp_path):
    (tmp_path / "small.txt").write_text("One line.")
    with pytest.raises(DataError, match="the text beside it is too small"):
        split_text(
            GENERAL, SourceText(name="the text beside it", texts=[tmp_path / "small.txt"], corpus=CorpusOptions())
        )


def test_facts_survive_their_record():
    from dataclasses import asdict

    facts = TextFacts(num_documents=3, num_characters=9, by_parts=True, clusters=(1, 2))
    assert TextFacts.from_record({**asdict(facts), "clusters": [1, 2]}) == facts
