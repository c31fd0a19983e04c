"""Cut KorQuAD's 140 dev articles into 100 to learn from and 40 to ask about; the latter also typed in parts (NFD).

usage: questions.py KORQUAD_DEV OUT_FOLDER      its train part could not be had; no article is on both sides
"""

import json
import sys
import unicodedata
from pathlib import Path

from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.qa.reader import read_json

NUM_TRAIN = 100


def parted(article: dict) -> dict:
    """The same article in NFD, answers where they then stand."""

    def nfd(text: str) -> str:
        return unicodedata.normalize("NFD", text)

    paragraphs = [
        {
            "context": nfd(paragraph["context"]),
            "qas": [
                {
                    "id": question["id"],
                    "question": nfd(question["question"]),
                    "answers": [
                        {
                            "text": nfd(answer["text"]),
                            "answer_start": len(nfd(paragraph["context"][: answer["answer_start"]])),
                        }
                        for answer in question["answers"]
                    ],
                }
                for question in paragraph["qas"]
            ],
        }
        for paragraph in article["paragraphs"]
    ]
    return {"title": article["title"], "paragraphs": paragraphs}


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    articles = read_json(source)["data"]
    asked = articles[NUM_TRAIN:]
    parts = {"train": articles[:NUM_TRAIN], "dev": asked, "dev-nfd": [parted(article) for article in asked]}
    for name, chosen in parts.items():
        record = {"version": "KorQuAD_v1.0_dev, cut", "data": chosen}
        write_text_atomic(out / f"korquad-{name}.json", json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
