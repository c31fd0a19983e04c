"""Pieces know their words, sentences, speakers and characters; segments cover them."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.tasks.coref.documents import CoreferenceDocument, TextDocument
from spanwise.tasks.coref.pieces import cut_documents, segment_borders


def document(sentences, clusters=(), speakers=None):
    words = [word for sentence in sentences for word in sentence]
    return CoreferenceDocument(
        name="d",
        words=tuple(words),
        sentence_borders=tuple(np.cumsum([0, *map(len, sentences)]).tolist()),
        speakers=tuple(speakers or [""] * len(words)),
        clusters=tuple(tuple(cluster) for cluster in clusters),
    )


def test_pieces_of_words_keep_words_sentences_speakers_and_characters(tokenizer):
    given = document([["Seoul", "is"], ["he", "!"]], speakers=["a", "a", "b", "a"])
    (pieces,) = cut_documents([given], tokenizer)
    assert pieces.text == "Seoul is he !"
    assert [pieces.text[a:b] for a, b in pieces.chars_T2] == ["Seoul", "is", "h", "e", "!"]
    assert pieces.word_T.tolist() == [0, 1, 2, 2, 3]
    assert pieces.sentence_T.tolist() == [0, 0, 1, 1, 1]
    assert pieces.speaker_T.tolist() == [0, 0, 1, 1, 0]
    assert pieces.starts_word_T.tolist() == [True, True, True, False, True]
    assert pieces.characters(2, 4) == (9, 11)


def test_fifty_speakers_have_fifty_numbers(tokenizer):
    words = ["a"] * 50
    (pieces,) = cut_documents([document([words], speakers=[f"s{k}" for k in range(50)])], tokenizer)
    assert len(set(pieces.speaker_T.tolist())) == 50


def test_gold_mentions_become_pieces_and_those_without_one_are_counted(tokenizer):
    given = document([["Seoul", "\u200b", "he"]], clusters=[[(0, 1), (2, 3)], [(1, 2)], [(0, 2)]])
    (pieces,) = cut_documents([given], tokenizer)
    assert pieces.num_unreachable == 1  # the tokenizer drops the blank of no width
    assert pieces.gold_M3.tolist() == [[0, 1, 1], [1, 3, 1]]  # the third reads as the first, which came before


def test_plain_text_has_the_tokenizers_words_and_sentences_of_the_text(tokenizer):
    text = "The Han. 🙂 It is\n\nbig."
    (pieces,) = cut_documents([TextDocument(name="t", text=text)], tokenizer)
    words = [pieces.text[slice(*pieces.characters(a, b))] for a, b in word_ranges(pieces)]
    assert words == ["The", "Han", ".", "🙂", "It", "is", "big", "."]
    by_sentence = [
        [w for w, (a, _) in zip(words, word_ranges(pieces), strict=True) if pieces.sentence_T[a] == s]
        for s in (0, 1, 2)
    ]
    assert by_sentence == [["The", "Han", "."], ["🙂", "It", "is"], ["big", "."]]


def word_ranges(pieces):
    starts = np.flatnonzero(pieces.starts_word_T)
    return list(itertools.pairwise([*starts, len(pieces)]))


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("abc 한강é中.🙂\n\u0301א!"), max_size=60))
def test_every_span_of_any_text_is_cut_from_it(tokenizer, text):
    (pieces,) = cut_documents([TextDocument(name="t", text=text)], tokenizer)
    assert len(pieces) == len(pieces.word_T) == len(pieces.sentence_T) == len(pieces.chars_T2)
    assert (np.diff(pieces.word_T) >= 0).all() and (np.diff(pieces.sentence_T) >= 0).all()
    for a, b in word_ranges(pieces):
        first, last = pieces.characters(a, b)
        assert 0 <= first < last <= len(text) and text[first:last] == text[first:last].strip()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "Seoul", "abcdefgh", "abc"]), min_size=1, max_size=6), max_size=6),
    st.integers(1, 9),
)
def test_segments_cover_all_pieces_and_end_with_sentences_or_words_where_they_can(tokenizer, sentences, capacity):
    (pieces,) = cut_documents([document(sentences)], tokenizer)
    borders = segment_borders(pieces, capacity)
    assert borders[0] == 0 and borders[-1] == len(pieces)
    assert (np.diff(borders) <= capacity).all() and (np.diff(borders) > 0).all()
    inner = [int(border) for border in borders[1:-1]]
    for begin, border in zip(borders.tolist(), inner, strict=False):
        possible = range(begin + 1, min(begin + capacity, len(pieces)) + 1)
        sentence_ends = [p for p in possible if p == len(pieces) or pieces.sentence_T[p] != pieces.sentence_T[p - 1]]
        word_ends = [p for p in possible if p == len(pieces) or pieces.starts_word_T[p]]
        assert border == max(sentence_ends or word_ends or possible)


def test_a_document_of_nothing_has_no_piece_and_no_segment(tokenizer):
    for empty in (document([]), document([["\u200b"]]), TextDocument(name="t", text=" \n ")):
        (pieces,) = cut_documents([empty], tokenizer)
        assert len(pieces) == 0 and len(pieces.starts_word_T) == 0
        assert segment_borders(pieces, 5).tolist() == [0]
