"""The compiled loops: padding, words, names of examples, spans of padded rows."""

from dataclasses import replace

import numpy as np

from spanwise.integrations.huggingface import arrays
from spanwise.integrations.huggingface.rows import read_rows
from spanwise.integrations.huggingface.tokenizer_tables import vocabulary_of

BORDERS = np.array([0, 3, 3, 5])
IDS = np.array([5, 6, 7, 8, 9])


def test_rows_are_padded_on_either_side():
    right = arrays.padded(IDS, BORDERS, 4, 1, False)
    left = arrays.padded(IDS, BORDERS, 4, 1, True)

    assert right.tolist() == [[5, 6, 7, 1], [1, 1, 1, 1], [8, 9, 1, 1]]
    assert left.tolist() == [[1, 5, 6, 7], [1, 1, 1, 1], [1, 1, 8, 9]]


def test_spans_are_places_of_the_padded_row():
    sequence, start, end = np.array([0, 0, 2]), np.array([0, 2, 4]), np.array([1, 3, 5])

    right = arrays.spans_by_row(sequence, start, end, BORDERS, 4, False)
    left = arrays.spans_by_row(sequence, start, end, BORDERS, 4, True)

    assert right.tolist() == [[[0, 1], [2, 3]], [[-1, -1], [-1, -1]], [[1, 2], [-1, -1]]]
    assert left.tolist() == [[[1, 2], [3, 4]], [[-1, -1], [-1, -1]], [[3, 4], [-1, -1]]]


def test_runs_end_with_their_example():
    sequence, start, end = arrays.runs_of(np.array([0, 1, 1, 1, 0]), BORDERS)

    assert (sequence.tolist(), start.tolist(), end.tolist()) == ([0, 2], [1, 3], [3, 4])


def test_labels_are_the_original_ids_of_hidden_tokens():
    labels, marks = arrays.labels_and_marks(IDS, np.array([1, 4]), np.array([3, 5]), -100)

    assert labels.tolist() == [-100, 6, 7, -100, 9]
    assert marks.tolist() == [0, 1, 1, 0, 1]


def test_an_example_has_one_name_however_it_is_padded_and_whatever_is_beside_it():
    def names(*rows, pad=0):
        read = read_rows([{"input_ids": [pad] * before + ids + [pad] * after} for before, ids, after in rows])
        real = read.input_ids != pad
        return arrays.fingerprints(read.input_ids, real, read.borders).tolist()

    ids = [2, 40, 41, 3]
    alone = names((0, ids, 0))[0]

    assert names((0, [2, 9, 3], 1), (2, ids, 1))[1] == alone
    others = [names((0, other, 0))[0] for other in ([2, 41, 40, 3], [2, 40, 41], [2, 40, 41, 3, 3], [2, 40, 42, 3])]
    assert len({alone, *others}) == 5


def test_pads_at_the_ends_are_padding_unless_they_end_texts(numbered):
    vocabulary = vocabulary_of(numbered)
    rows = read_rows([[0, 2, 40, 0, 41, 3, 0]])

    as_pad = arrays.attention_of(rows, vocabulary, None)
    as_end = arrays.attention_of(rows, vocabulary, 0)

    assert as_pad.tolist() == [False, True, True, True, True, True, False]
    assert as_end.all()


def test_words_come_from_the_table_or_from_the_example(numbered):
    vocabulary = vocabulary_of(numbered)
    ids = [2, 40, 300, 1, 301, 3, 302, 0]
    table = read_rows([{"input_ids": ids}])
    given = read_rows([{"input_ids": ids, "word_ids": [None, 0, 1, 1, 1, None, 0, None]}])
    special = read_rows([{"input_ids": ids, "special_tokens_mask": [0, 0, 1, 0, 0, 0, 0, 0]}])
    real = np.array([True] * 7 + [False])

    def both(rows):
        maskable, starts = arrays.words_of(rows, real, vocabulary)
        return "".join(".mS"[int(m) + int(s)] for m, s in zip(maskable, starts, strict=True))

    assert both(table) == ".SmSm.S."  # a piece after a special begins a word
    assert both(given) == ".SSmm.S."
    assert both(special) == ".S.Sm.S."


def test_extremes_of_ids():
    assert arrays.extremes(np.array([4, 9, -2])) == (-2, 9)
    assert arrays.extremes(np.zeros(0, dtype=np.int64)) == (0, 0)


def test_what_follows_the_end_of_a_word_starts_one(numbered):
    vocabulary = vocabulary_of(numbered)
    size = vocabulary.size
    ends = replace(vocabulary, starts_word=np.zeros(size, dtype=bool), ends_word=np.arange(size) == 41)
    rows = read_rows([[2, 40, 41, 42, 43, 3], [41, 3, 42]])
    _, starts = arrays.words_of(rows, np.ones(9, dtype=bool), ends)

    assert starts.tolist() == [False, True, False, True, False, False, True, False, True]
