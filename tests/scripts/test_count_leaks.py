"""The count of training paragraphs that a test set shares words with, and what the package ships of them."""

import json

import pytest
from scripts.count_leaks import leaks_of, main

from spanwise.quickstart.bundle import open_bundle
from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.corpus import CorpusOptions, read_documents
from spanwise.text.word_runs import WordRuns

COPIED = "The old mill by the river was sold to a family of bakers."
OWN = "Nine grey geese walked over the frozen lake at dawn."


def questions(path, *contexts):
    paragraphs = [{"context": text, "qas": [{"id": text, "question": "Who?", "answers": []}]} for text in contexts]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "T", "paragraphs": paragraphs}]}))
    return path


@pytest.fixture
def files(tmp_path):
    """A test set, a question file and a text that each copy one of its sentences, and one that copies none."""
    test_set = questions(tmp_path / "test.json", f"{COPIED} It is quiet now.")
    mixed = questions(tmp_path / "mixed.json", OWN, f"They say {COPIED.upper()}", f"{OWN} {OWN}")
    (tmp_path / "text.txt").write_text(f"{OWN}\n{COPIED}\n\n{OWN}\n")
    clean = questions(tmp_path / "clean.json", OWN)
    return test_set, mixed, tmp_path / "text.txt", clean


def test_paragraphs_of_questions_and_lines_of_text_are_counted(files):
    test_set, mixed, text, clean = files
    found = [leaks_of(path, paragraph_runs([test_set])) for path in (mixed, text, clean)]
    assert [(leaks.num_paragraphs, len(leaks.shared)) for leaks in found] == [(3, 1), (3, 1), (1, 0)]
    assert found[0].shared == ("the old mill by the river was sold",)


def test_sentences_with_tags_and_of_documents_are_counted_too(files, tmp_path):
    tagged, resolved = tmp_path / "tags.conll", tmp_path / "documents.jsonl"
    sentences = [text.removesuffix(".").split() for text in (OWN, COPIED)]
    tagged.write_text("\n\n".join("\n".join(f"{word}\tO" for word in words) for words in sentences) + "\n")
    speakers = [[""] * len(words) for words in sentences]
    document = {"doc_key": "d", "sentences": sentences, "speakers": speakers, "clusters": []}
    resolved.write_text(json.dumps(document) + "\n")
    for path in (tagged, resolved):
        leaks = leaks_of(path, paragraph_runs([files[0]]))
        assert (leaks.num_paragraphs, leaks.shared) == (2, ("the old mill by the river was sold",)), path


def test_a_line_is_printed_per_file_and_the_status_says_whether_any_leaks(files, capsys):
    test_set, mixed, _, clean = files
    assert main([str(mixed), str(clean), "--show", "1", "--test", str(test_set)]) == 1
    told = capsys.readouterr().out
    assert f"{mixed}: 1 of 3 paragraphs share" in told and "    the old mill by" in told
    assert f"{clean}: 0 of 1 paragraphs share" in told
    assert main([str(clean), "--test", str(test_set)]) == 0


def test_longer_runs_find_longer_copies_alone(files):
    test_set, mixed, _, _ = files
    assert len(leaks_of(mixed, paragraph_runs([test_set], length=13)).shared) == 1  # the sentence has 13 words
    assert leaks_of(mixed, paragraph_runs([test_set], length=14)).shared == ()


# What eight words find beside copies: names, a song, and phrases of every census, war and century.
NAMES = {
    "the us department of housing and urban development",
    "the church of jesus christ of latter day",
    "and the average family size was 3 21",
    "ended with the signing of the treaty of",
    "by the national aeronautics and space administration nasa",
    "rock and roll part 2 by gary glitter",
    "at the end of the 19th century which",
}


TEST_SETS = {"en": "qa/squad/dev-v1.1.json.xz", "ko": "qa/korquad/KorQuAD_v1.0_dev.json.xz"}


@pytest.mark.slow
@pytest.mark.parametrize("language", TEST_SETS)
def test_no_bundled_question_is_on_a_paragraph_of_the_test_set_of_its_language(data_folder, language):
    test_set = [data_folder / TEST_SETS[language]]
    copies, phrases = paragraph_runs(test_set, length=13), paragraph_runs(test_set)
    with open_bundle(language) as bundle:
        for path in (bundle.qa_train, bundle.qa_dev):
            assert leaks_of(path, copies).shared == (), path
            assert set(leaks_of(path, phrases).shared) <= NAMES, path


@pytest.mark.slow
def test_no_other_question_file_that_may_be_learned_from_is_on_a_paragraph_of_squad(data_folder):
    test_set = [data_folder / "qa/squad/dev-v1.1.json.xz"]
    copies, phrases = paragraph_runs(test_set, length=13), paragraph_runs(test_set)
    for path in (data_folder / "qa/qamr/qamr_wiki.json.xz", data_folder / "qa/squadshifts/new_wiki_v1.0.json.xz"):
        assert leaks_of(path, copies).shared == (), path
        assert set(leaks_of(path, phrases).shared) <= NAMES, path


LABELS = (  # that the English readers of names and coreference learned from
    "tagging/wikiann_en/train.txt.xz",
    "tagging/wnut17/wnut17train.conll.xz",
    "tagging/ud_en_ewt/train.conllu.xz",
    "coref/ontogum/train.conll.xz",
    "coref/litbank/train.conll.xz",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LABELS)
def test_no_file_that_names_or_coreference_are_learned_from_is_on_a_paragraph_of_squad(data_folder, name):
    test_set = [data_folder / TEST_SETS["en"]]
    leaks = leaks_of(data_folder / name, paragraph_runs(test_set, length=13))
    assert leaks.num_paragraphs > 3_000 and leaks.shared == ()
    assert set(leaks_of(data_folder / name, paragraph_runs(test_set)).shared) <= NAMES


LEARNED = {
    "en": ("qa/qamr/qamr_wiki.json.xz", "qa/squadshifts/new_wiki_v1.0.json.xz", *LABELS, "text/en/wiki-[sbe]*.xz"),
    "ko": ("text/ko/kowiki-base-0*.xz",),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", LEARNED)
def test_the_quickstart_adapts_to_text_that_no_training_of_the_weights_saw(data_folder, language):
    with open_bundle(language) as bundle:
        own = [
            sentence
            for file in (bundle.own_train, bundle.own_valid)
            for document in read_documents([file], CorpusOptions(lines="sentences", language=language))
            for sentence in document.sentences
        ]
        runs = WordRuns([*own, *read_questions(bundle.own_questions).contexts])
    assert len(runs) > 10_000
    for name in LEARNED[language]:
        files = sorted(data_folder.glob(name))
        assert files, name
        for file in files:
            assert leaks_of(file, runs).shared == (), file
