"""How many answers of a Korean question set a vocabulary can point at: a plain one against one learned from morphemes.

    python benchmarks/korean_borders.py TEXT... --questions KORQUAD.json [--vocab-size 16000] [--json]

An answer that ends inside a piece (서울 in the piece 서울에서) cannot be marked by start and end tokens. Both
vocabularies are learned from the same beginning of the text, plain WordPiece and WordPiece with morpheme borders, and
cut the paragraphs of the questions; the analyser is used while learning alone.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from pathlib import Path

from spanwise.text.corpus import CorpusOptions
from spanwise.text.learn import learn_tokenizer, unknown_share
from spanwise.text.tokenizers import Tokenizer


def read_questions(path: Path) -> list[tuple[str, list[tuple[int, int]]]]:
    """(paragraph, ranges of its answers' characters) of a file in SQuAD's format, maybe packed with xz."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    found = []
    for article in json.loads(content)["data"]:
        for paragraph in article["paragraphs"]:
            answers = {
                (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                for question in paragraph["qas"]
                for answer in question["answers"]
            }
            found.append((paragraph["context"], sorted(answers)))
    return found


def measure(tokenizer: Tokenizer, paragraphs: list[tuple[str, list[tuple[int, int]]]]) -> dict[str, float]:
    encodings = tokenizer.encode_batch([text for text, _ in paragraphs])
    num_answers = num_ends = num_whole = num_pieces = 0
    for (_, answers), encoding in zip(paragraphs, encodings, strict=True):
        starts, ends = set(encoding.offsets[:, 0].tolist()), set(encoding.offsets[:, 1].tolist())
        num_pieces += len(encoding.ids)
        for start, end in answers:
            num_answers += 1
            num_ends += end in ends
            num_whole += start in starts and end in ends
    return {
        "answers": num_answers,
        "end_inside_a_piece": 1 - num_ends / num_answers,
        "not_on_piece_borders": 1 - num_whole / num_answers,
        "pieces_a_character": num_pieces / sum(len(text) for text, _ in paragraphs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--vocab-size", type=int, default=16_000)
    parser.add_argument("--max-characters", type=int, default=2_000_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    options = CorpusOptions(language="ko")
    paragraphs = read_questions(arguments.questions)
    rows = []
    for boundaries in ("words", "morphemes"):
        began = time.perf_counter()
        tokenizer = learn_tokenizer(
            arguments.texts,
            vocab_size=arguments.vocab_size,
            max_characters=arguments.max_characters,
            boundaries=boundaries,
            options=options,
        )
        seconds = time.perf_counter() - began
        share = unknown_share(tokenizer, arguments.texts, options=options)
        rows.append({"boundaries": boundaries, **measure(tokenizer, paragraphs), "unknown": share, "seconds": seconds})
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(
            f"{row['boundaries']}: {row['end_inside_a_piece']:.1%} of {row['answers']:,} answers end inside a piece, "
            f"{row['not_on_piece_borders']:.1%} are not whole pieces; {row['pieces_a_character']:.2f} pieces a "
            f"character, [UNK] {row['unknown']:.3%}, learned in {row['seconds']:.0f} s"
        )


if __name__ == "__main__":
    main()
