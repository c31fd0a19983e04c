"""The names that the shipped tagger learned from: where they stand in a treebank, and which texts are sentences."""

import importlib.util
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "records" / "shipped-weights"
LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_are_proper_nouns_and_their_links_without_titles_times_and_peoples():
    text = "Prime Minister Iyad Allawi flew in January to the Gulf of Mexico with Iraqis , Al - Sadr and Mr. Putin"
    words = text.split()
    proper = {"Prime", "Minister", "Iyad", "Allawi", "January", "Gulf", "Mexico", "Al", "Sadr", "Mr.", "Putin"}
    nouns = ["NNP" if word in proper else "NNPS" if word == "Iraqis" else "X" for word in words]
    found = [" ".join(words[first:end]) for first, end in script("web_names").names_in(words, nouns)]
    assert found == ["Iyad Allawi", "Gulf of Mexico", "Al - Sadr", "Putin"]


def test_a_name_has_the_kind_that_is_likeliest_over_its_words_or_none():
    place, person, none = [0.1, 0.6, 0.1, 0.1, 0.1], [0.2, 0.1, 0.1, 0.1, 0.5], [0.97, 0.01, 0.01, 0.005, 0.005]
    scores = np.log([place, person, person, none])
    tags = script("web_names").tags_of(["Hope", "Ann", "Lee", "The"], ["NNP", "X", "NNP", "NNP"], scores, LABELS)
    assert tags == ["B-LOC", "O", "B-PER", "I-PER"]
    assert script("web_names").tags_of(["The"], ["NNP"], scores[3:], LABELS) == ["O"]


def test_headings_are_no_whole_sentences():
    sentence, heading = "She lives in a town .", "Atlantic City"
    lines = [f"{word}\tO\n" if word else "\n" for word in f"{heading}  {sentence} ".split(" ")]
    found = script("names").whole_sentences(lines)
    assert [line.split("\t")[0].strip() for line in found] == [*sentence.split(), ""]
