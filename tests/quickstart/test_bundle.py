"""The bundled data is small, licensed, split by article and free of text on which answers are scored."""

import json
import lzma
import re

import pytest

from spanwise.quickstart.bundle import FILES, open_bundle
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.word_runs import WordRuns


@pytest.fixture(scope="module")
def texts():
    with open_bundle() as corpus:
        return {
            "train": lzma.decompress(corpus.train_text.read_bytes()).decode(),
            "valid": lzma.decompress(corpus.valid_text.read_bytes()).decode(),
            "qa_train": json.loads(lzma.decompress(corpus.qa_train.read_bytes())),
            "qa_dev": json.loads(lzma.decompress(corpus.qa_dev.read_bytes())),
        }


def contexts(squad):
    return [paragraph["context"] for article in squad["data"] for paragraph in article["paragraphs"]]


def word_runs(text):
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + 8]) for i in range(len(words) - 7)}


def test_everything_together_is_below_three_megabytes_and_says_its_licence():
    with open_bundle() as corpus:
        sizes = [getattr(corpus, key).stat().st_size for key in FILES]
        licences = corpus.licences.read_text(encoding="utf-8")

    assert sum(sizes) < 3_000_000
    for name in FILES.values():
        assert name == "LICENSES.md" or name in licences
    assert "Attribution-ShareAlike 3.0" in licences and "Attribution 4.0" in licences


def test_articles_of_the_dev_questions_are_in_no_training_part(texts):
    titles = [{article["title"] for article in texts[name]["data"]} for name in ("qa_train", "qa_dev")]

    assert len(titles[0]) == 42 and len(titles[1]) == 6
    assert not titles[0] & titles[1]
    assert not set(contexts(texts["qa_train"])) & set(contexts(texts["qa_dev"]))


def test_held_out_articles_are_whole_and_not_in_the_training_text(texts):
    train, valid = (texts[name].strip().split("\n\n") for name in ("train", "valid"))

    assert (len(train), len(valid)) == (197, 25)
    assert not set(train) & set(valid)


def test_no_paragraph_of_a_question_is_copied_into_the_pretraining_text(texts):
    pretraining = word_runs(texts["train"] + "\n\n" + texts["valid"])

    for context in contexts(texts["qa_train"]) + contexts(texts["qa_dev"]):
        runs = word_runs(context)
        assert len(runs & pretraining) <= max(10, len(runs) // 5), context[:80]


def test_every_answer_stands_where_it_says(texts):
    for squad in (texts["qa_train"], texts["qa_dev"]):
        for article in squad["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    for answer in question["answers"]:
                        first = answer["answer_start"]
                        assert paragraph["context"][first : first + len(answer["text"])] == answer["text"]


@pytest.fixture(scope="module")
def korean():
    with open_bundle("ko") as corpus:
        assert corpus.language == "ko"
        return {
            "train": lzma.decompress(corpus.train_text.read_bytes()).decode().strip().split("\n\n"),
            "valid": lzma.decompress(corpus.valid_text.read_bytes()).decode().strip().split("\n\n"),
            "qa_train": json.loads(lzma.decompress(corpus.qa_train.read_bytes())),
            "qa_dev": json.loads(lzma.decompress(corpus.qa_dev.read_bytes())),
            "licences": corpus.licences.read_text(encoding="utf-8"),
            "bytes": sum(getattr(corpus, key).stat().st_size for key in FILES),
        }


def questions(squad):
    return [q for article in squad["data"] for paragraph in article["paragraphs"] for q in paragraph["qas"]]


def test_the_korean_bundle_is_below_a_megabyte_and_a_half_and_says_its_licence(korean):
    assert korean["bytes"] < 1_500_000
    assert "Attribution-ShareAlike 3.0" in korean["licences"] and "made by rule" in korean["licences"]
    for number in (len(korean["train"]), len(korean["valid"]), len(questions(korean["qa_train"]))):
        assert f"{number:,}" in korean["licences"]


def test_korean_dev_questions_are_written_by_hand_on_articles_of_no_other_file(korean):
    dev, train = contexts(korean["qa_dev"]), contexts(korean["qa_train"])
    everything = "\n".join([*korean["train"], *korean["valid"], *train])
    assert len(questions(korean["qa_dev"])) == 54 and len(questions(korean["qa_train"])) > 500
    assert not [context for context in dev if context in everything]
    assert not set(korean["train"]) & set(korean["valid"])


def test_every_korean_answer_stands_where_it_says_and_every_question_asks(korean):
    for squad in (korean["qa_train"], korean["qa_dev"]):
        assert all(question["question"].endswith("가?") for question in questions(squad))
        for article in squad["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    (answer,) = question["answers"]
                    first = answer["answer_start"]
                    assert paragraph["context"][first : first + len(answer["text"])] == answer["text"]
                    assert answer["text"] not in question["question"]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_text_to_adapt_to_shares_no_run_of_eight_words_with_what_was_learned_from(language):
    with open_bundle(language) as bundle:
        known = WordRuns(lines_of(bundle.train_text, bundle.valid_text))
        for file in (bundle.qa_train, bundle.qa_dev):
            for context in read_questions(file).contexts:
                known.add(context)
        learned, kept = lines_of(bundle.own_train), lines_of(bundle.own_valid)
        asked = list(read_questions(bundle.own_questions).contexts)
        assert known.shares(lines_of(bundle.train_text)[5])  # the guard itself works
    assert not [line for line in [*learned, *kept, *asked] if known.shares(line)]
    tested = WordRuns([*kept, *asked])
    assert not [line for line in learned if tested.shares(line)]


@pytest.mark.parametrize(("language", "number"), [("en", 189), ("ko", 158)])
def test_questions_on_the_text_are_natural_ones_on_what_is_kept_out(language, number):
    with open_bundle(language) as bundle:
        data = read_questions(bundle.own_questions)
        kept = " ".join(lines_of(bundle.own_valid))
        licences = bundle.licences.read_text(encoding="utf-8")
    assert len(data.questions) == number and f"{number} questions" in " ".join(licences.split())
    assert all(context in kept for context in data.contexts)
    for question in data.questions:
        assert question.text.endswith("?")
        for answer in question.answers:
            assert answer.text not in question.text
            assert data.contexts[question.paragraph][answer.start : answer.end] == answer.text


def lines_of(*files):
    return [line for file in files for line in lzma.decompress(file.read_bytes()).decode().splitlines() if line]
