"""Which documents are kept out: by their content alone, copies together, and none of a text that is too small."""

from dataclasses import replace

import pytest

from spanwise.data.held_out import digest_of, parts_of, split_of
from spanwise.errors import DataError
from spanwise.text.corpus import Document


def documents(count, sentences=2):
    return [Document("", n, [f"Document {n} has sentence {s}." for s in range(sentences)]) for n in range(count)]


def test_a_tenth_is_kept_out_whatever_the_order_and_copies_stay_together():
    given = documents(200)
    split = split_of(given, "it")
    assert len(split.digests) == 20 and not split.by_parts and split.num_documents == 200
    assert split_of([*given[::-1], *given[:7]], "it").digests == split.digests
    training, held_out = list(split.training(given * 2)), split.held_out(given * 2, 10**6)
    assert len(training) == 2 * 180 and len(held_out) == 20
    assert not {digest_of(one) for one in training} & {digest_of(one) for one in held_out}


def test_of_few_documents_parts_are_kept_out():
    split = split_of(documents(3, sentences=100), "it")
    assert split.by_parts and split.num_documents == 3 and split.num_units == 30
    assert len(split.digests) == 7
    assert all(len(part.sentences) == 10 for part in split.held_out(documents(3, sentences=100), 10**6))


def test_a_text_too_small_says_how_much_is_needed():
    with pytest.raises(DataError, match=r"my text is too small .* 2 document\(s\) of .* at least 20"):
        split_of(documents(2, sentences=50), "my text")
    with pytest.raises(DataError, match="too small"):  # twenty copies of one part say nothing of another
        split_of(documents(1, sentences=10) * 30, "my text")


def test_what_is_measured_has_a_limit_and_no_document_is_most_of_it():
    given = documents(100, sentences=50)
    split = split_of(given, "it")
    size = sum(map(len, given[0].sentences))
    taken = split.held_out(given, 2 * size)
    assert sum(len(s) for one in taken for s in one.sentences) <= 2.3 * size
    assert len(taken) >= 8 and all(0 < len(one.sentences) < 50 for one in taken)


def test_what_another_text_keeps_out_is_left_out_too():
    given = documents(100)
    split = split_of(given, "it")
    other = replace(split, digests=frozenset(digest_of(one) for one in given[:50]))
    assert len(list(split.training(given, other))) == len([d for d in given[50:] if digest_of(d) not in split.digests])


def test_a_few_long_documents_inside_a_larger_text_stay_kept_out():
    """Few documents are split by parts and many as a whole, so that their hashes never meet."""
    few = documents(3, sentences=100)
    many = [*few, *(replace(one, sentences=[f"More: {s}" for s in one.sentences]) for one in documents(60))]
    by_parts, whole = split_of(few, "few"), split_of(many, "many")
    assert by_parts.by_parts and not whole.by_parts
    kept_out = {digest_of(part) for part in by_parts.held_out(few, 10**6)}
    trained = list(whole.training(many, by_parts))
    assert not kept_out & {digest_of(part) for part in parts_of(trained)}
    assert len(trained) >= 50  # the documents that share nothing stay

    outside = replace(whole, digests=frozenset({digest_of(few[0])}))
    trained = list(by_parts.training(few, outside))
    assert trained and not {digest_of(part) for part in parts_of(few[:1])} & {digest_of(part) for part in trained}


def test_parts_have_ten_sentences_and_hold_all_of_them():
    parts = list(parts_of(documents(2, sentences=23)))
    assert [len(part.sentences) for part in parts] == [10, 10, 3] * 2 and all(part.ends for part in parts)
