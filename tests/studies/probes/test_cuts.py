"""Cuts of labelled files: the same for everyone, small ones inside large ones, whole files as they are."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.studies.probes.cuts import chosen, cut_questions, cut_sentences
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.tagging.reader import read_tagged


def test_small_cuts_lie_inside_large_ones_in_their_own_order():
    small, large = chosen(1000, 20), chosen(1000, 300)
    assert set(small) < set(large) and small == sorted(small) and len(large) == 300
    assert max(large) > 900 > 100 > min(large)  # from all of the file


def test_a_cut_of_questions_is_a_squad_file_with_so_many(probe_data, tmp_path):
    path = probe_data / "qa" / "squad" / "dev-v1.1.json"
    cut = cut_questions(path, 5, tmp_path)
    asked = {question["id"] for p in json.loads(cut.read_text())["data"][0]["paragraphs"] for question in p["qas"]}
    assert len(asked) == 5
    read_questions(cut, purpose="score")
    assert cut_questions(path, None, tmp_path) == path
    assert cut_questions(path, 12, tmp_path) == path  # all there are
    with pytest.raises(DataError, match="holds 12 questions and the probe asks for 13"):
        cut_questions(path, 13, tmp_path)


def test_a_file_of_another_shape_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"rows": []}')
    with pytest.raises(DataError, match="shape of SQuAD"):
        cut_questions(tmp_path / "x.json", 5, tmp_path)


def test_a_cut_of_sentences_reads_as_the_file_does(probe_data, tmp_path):
    path = probe_data / "tagging" / "conll2000" / "train.txt"
    cut = cut_sentences(path, 5, tmp_path / "cuts")
    some, whole = (read_tagged(file, purpose="train").sentences for file in (cut, path))
    assert len(some) == 5 and {s.text for s in some} <= {s.text for s in whole} and some[0].tags == whole[0].tags
    assert cut_sentences(path, 12, tmp_path) == path and cut_sentences(path, None, tmp_path) == path
    with pytest.raises(DataError, match="holds 12 sentences and the probe asks for 1,000"):
        cut_sentences(path, 1_000, tmp_path)


def test_marks_of_documents_are_no_sentences(tmp_path):
    (tmp_path / "ner.txt").write_text("-DOCSTART- O\n\nOslo B-LOC\n\n-DOCSTART- O\n\nBonn B-LOC\n\nRome B-LOC\n")
    cut = cut_sentences(tmp_path / "ner.txt", 2, tmp_path / "cuts")
    assert cut.read_text().count("LOC") == 2 and "DOCSTART" not in cut.read_text()
