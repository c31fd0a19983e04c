"""A small real tokenizer and a few questions on own text."""

import string

import pytest

from spanwise.tasks.qa.reader import parse_squad
from spanwise.text.tokenizers import Tokenizer

RIVER = (
    "The Han River (한강) flows through Seoul and is 494 km long. Its arms, the Namhan and the Bukhan, meet at "
    "Yangpyeong; the river turns north-west. In 1394 the court moved to its bank. Ferries crossed it "
    "until the first bridge, built for trains, opened in 1900. Today more than thirty bridges carry cars."
)
TEA = "Green tea from Boseong is picked in April. The first leaves are the dearest."


def squad_record(version="1.1"):
    def ask(id, question, context, *texts):
        return {
            "id": id,
            "question": question,
            "answers": [{"text": text, "answer_start": context.index(text)} for text in texts],
        }

    river = [
        ask("length", "How long is the Han?", RIVER, "494 km", "494 km long"),
        ask("bridge", "When did the first bridge open?", RIVER, "1900"),
        ask("arms", "Where do the arms meet?", RIVER, "Yangpyeong"),
    ]
    tea = [ask("tea", "When is Boseong tea picked?", TEA, "April")]
    if version != "1.1":
        tea.append({"id": "price", "question": "What does tea cost?", "answers": [], "is_impossible": True})
    return {
        "version": version,
        "data": [
            {"title": "Han", "paragraphs": [{"context": RIVER, "qas": river}]},
            {"title": "Tea", "paragraphs": [{"context": TEA, "qas": tea}]},
        ],
    }


@pytest.fixture(scope="session")
def vocabulary_folder(tmp_path_factory):
    """A folder that holds a cased `vocab.txt` and nothing else."""
    folder = tmp_path_factory.mktemp("vocabulary")
    signs = list(string.ascii_letters + string.digits + string.punctuation + "한강é中")
    words = ["The", "the", "Han", "River", "river", "Seoul", "bridge", "##ing", "##am", "In", "is", "and", "km", "Apr"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *("##" + sign for sign in signs), *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tokenizer(vocabulary_folder):
    return Tokenizer.load(vocabulary_folder)


@pytest.fixture(scope="session")
def squad11():
    return parse_squad(squad_record("1.1"), source="han-1.1.json")


@pytest.fixture(scope="session")
def squad20():
    return parse_squad(squad_record("v2.0"), source="han-2.0.json")
