#!/usr/bin/env python3
"""Rebuild the Korean text and questions that ship with the package (src/spanwise/quickstart/corpus/ko).

    python scripts/make_quickstart_corpus_ko.py --text kowiki.txt.gz --test KorQuAD_v1.0_dev.json --out DIR

`--text` is plain text with one paragraph a line and a blank line between articles. Nothing is random: an article's part
is chosen by the SHA-256 of its text, so the same source gives the same bytes. What is done, in this order:

1. articles on which `quickstart_questions_ko.tsv` (beside this file, written by hand) asks become the dev questions,
   and are left out of everything else;
2. whole articles go to the held-out part until it reaches `VALID_CHARACTERS`, then to the training part until that has
   `TRAIN_CHARACTERS`;
3. questions for training are made by rule from sentences of the training part, as no free Korean question set is small
   enough to ship: "X는 Y이다." asks what Y is, a date asks when, a number with its unit asks how many.
   Paragraphs that share eight words in a row with a test set are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from make_quickstart_corpus import digest, read_articles, read_text, write_xz

from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.text.word_runs import WordRuns

QUESTIONS = Path(__file__).with_name("quickstart_questions_ko.tsv")
VALID_CHARACTERS = 60_000
TRAIN_CHARACTERS = 1_150_000
TRAIN_QUESTIONS = 1_600
QUESTIONS_A_PARAGRAPH = 3
PARAGRAPH_CHARACTERS = (60, 420)
PEOPLE = (
    "사람",
    "인물",
    "선수",
    "배우",
    "가수",
    "정치인",
    "정치가",
    "작가",
    "학자",
    "교수",
    "군인",
    "감독",
    "화가",
    "시인",
)
PEOPLE += (
    "음악가",
    "작곡가",
    "철학자",
    "수학자",
    "물리학자",
    "소설가",
    "황제",
    "국왕",
    "왕",
    "장군",
    "외교관",
    "법조인",
)
UNITS = "명|개국|개|곳|킬로미터|미터|km|m|살|마리|척|석|쪽|층|회|승|골|편|권|년간|개월|배"
_PARTICLES = "의|을|를|이|가|은|는|에|에서|으로|로|만|까지|과|와|씩|동안"
_SENTENCE = re.compile(r"[^.!?]*\d?(?:\.\d[^.!?]*)*다\.")
_DEFINITION = re.compile(
    r"(?P<title>[^,.()]{2,30})(?:\([^()]*\))?(?P<particle>은|는) (?P<what>[^,.()\d][^.()]{7,80}[가-힣])이다\."
)
_DATE = re.compile(r"(?P<date>\d{3,4}년(?: \d{1,2}월(?: \d{1,2}일)?)?)(?P<particle>에는|에)?(?! ?\d)(?=[ ,])")
_AMOUNT = re.compile(
    rf"(?<![제_\d.,A-Za-z])(?P<amount>\d[\d,]*(?:\.\d+)?)(?P<unit> ?(?:{UNITS}))(?=(?:{_PARTICLES})?[ ,])"
)
_OPENERS = re.compile(r"(?:하지만|그러나|또한|또|한편|따라서|이후|그리고|덧붙여|특히|결국|이어|현재|이에),? ")


def coda(syllable: str) -> int:
    """The number of a Hangul syllable's last consonant, 0 without one; -1 for what is no syllable."""
    code = ord(syllable) - 0xAC00
    return code % 28 if 0 <= code < 11172 else -1


def topic(words: str) -> str:
    """The words with the particle that makes them the topic. An ending in Latin letters or digits takes 는."""
    return words + ("은" if coda(words[-1]) > 0 else "는")


def interrogative(sentence: str) -> str | None:
    """A statement ending in "다." as a question ending in "가?", or None where the ending is of another kind."""
    stem = sentence.removesuffix("다.")
    if stem == sentence or len(stem) < 2:
        return None
    last = stem[-1]
    if last == "이":
        return stem[:-1] + "인가?"
    if last == "는" and coda(stem[-2]) > 0:  # 않는다, 받는다
        return stem + "가?"
    if coda(last) in (18, 20):  # 없다; 었다, 했다, 있다
        return stem + "는가?"
    if coda(last) == 4 and last != "한":  # 된다, 진다
        return stem[:-1] + chr(ord(last) - 4) + "는가?"
    return stem[:-1] + "하는가?" if last == "한" else None


def questions_of(paragraph: str, title: str, *, opens: bool) -> Iterator[tuple[str, str, int]]:
    """(question, answer, its place) of each sentence that a rule fits; `opens`: it is the first of its article."""
    definition = _DEFINITION.match(paragraph) if opens else None
    if definition and (coda(definition["title"][-1]) > 0) == (definition["particle"] == "은"):
        what = definition["what"]
        who = "누구인가?" if what.endswith(PEOPLE) else "무엇인가?"
        yield f"{topic(what)} {who}", definition["title"], 0
    for match in _SENTENCE.finditer(paragraph):
        sentence = match[0].lstrip()
        opener = _OPENERS.match(sentence)
        sentence = sentence[opener.end() :] if opener else sentence
        place = match.end() - len(sentence)
        asked = interrogative(sentence)
        if asked is None or not 20 <= len(sentence) <= 100 or set(sentence) & set("()《》\"“”‘’'"):
            continue
        dates, amounts = list(_DATE.finditer(sentence)), list(_AMOUNT.finditer(sentence))
        if len(dates) == 1 and re.search(r"(?:^|[은는이가] |, )$", sentence[: dates[0].start()]):
            date = dates[0]
            if "월" in date["date"] or date["particle"]:
                word = "언제" if "월" in date["date"] else "몇 년에"
                question = asked[: date.start()] + word + asked[date.end() :].removeprefix(",")
                yield with_topic(question, title), date["date"], place + date.start()
        elif not dates and len(amounts) == 1:
            amount = amounts[0]
            question = f"{asked[: amount.start()]}몇 {amount['unit'].strip()}{asked[amount.end() :]}"
            yield with_topic(question, title), amount["amount"] + amount["unit"], place + amount.start()


def with_topic(question: str, title: str) -> str:
    """The question, beginning with the article's topic where it names none or says "he"."""
    if question.startswith("그는 "):
        return f"{topic(title)} {question[3:]}"
    has_topic = re.search(r"[가-힣\w](은|는|이|가) ", question[: len(question) * 2 // 3])
    return question if has_topic else f"{topic(title)} {question}"


def title_of(article: str) -> str:
    """What an article is about, told by its first words."""
    found = re.split(r" 또는 |,|\(|은 |는 |\n", article)[0].strip("《》〈〉 ")
    return found if 2 <= len(found) <= 30 else ""


def by_rule(articles: list[str]) -> dict:
    """A SQuAD 1.1 file of questions on the paragraphs of articles."""
    data, count = [], 0
    for article in sorted(articles, key=digest):
        title = title_of(article)
        paragraphs = []
        for context in article.split("\n"):
            if (
                not title
                or count >= TRAIN_QUESTIONS
                or not PARAGRAPH_CHARACTERS[0] <= len(context) <= PARAGRAPH_CHARACTERS[1]
            ):
                continue
            asked = questions_of(context, title, opens=article.startswith(context))
            found = [each for each in asked if each[1] not in each[0]][:QUESTIONS_A_PARAGRAPH]
            qas = [record(f"train-{count + i}", *question, context) for i, question in enumerate(found)]
            count += len(qas)
            if qas:
                paragraphs.append({"context": context, "qas": qas})
        if paragraphs:
            data.append({"title": title, "paragraphs": paragraphs})
    return {"version": "1.1", "data": data}


def without(questions: dict, runs: WordRuns) -> dict:
    """The same file without the paragraphs that share eight words in a row with a test set."""
    for article in questions["data"]:
        article["paragraphs"] = [one for one in article["paragraphs"] if not runs.shares(one["context"])]
    return {**questions, "data": [article for article in questions["data"] if article["paragraphs"]]}


def by_hand(articles: list[str]) -> tuple[dict, set[str]]:
    """A SQuAD 1.1 file of the written questions, and the articles they are about."""
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    asked: dict[str, dict[str, list]] = {}
    for number, (begin, question, answer) in enumerate(rows):
        places = [
            (article, paragraph)
            for article in articles
            for paragraph in article.split("\n")
            if paragraph.startswith(begin)
        ]
        if len(places) != 1 or answer not in places[0][1]:
            raise SystemExit(f"line {number + 1}: {len(places)} paragraphs begin so, or the answer is not there")
        article, paragraph = places[0]
        qas = asked.setdefault(article, {}).setdefault(paragraph, [])
        qas.append(record(f"dev-{number}", question, answer, paragraph.index(answer), paragraph))
    data = [
        {"title": title_of(article) or article[:20], "paragraphs": [{"context": c, "qas": q} for c, q in found.items()]}
        for article, found in asked.items()
    ]
    return {"version": "1.1", "data": data}, set(asked)


def record(number: str, question: str, answer: str, place: int, context: str) -> dict:
    if context[place : place + len(answer)] != answer:
        raise SystemExit(f"{question}: {answer!r} is not at character {place} of {context[:40]!r}")
    return {"id": number, "question": question, "answers": [{"text": answer, "answer_start": place}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="one paragraph a line, blank line between articles")
    parser.add_argument(
        "--test", type=Path, nargs="+", required=True, help="test sets whose paragraphs are not asked about"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write the four files to")
    options = parser.parse_args()

    articles = read_articles(read_text(options.text))
    qa_dev, asked = by_hand(articles)
    left = sorted((article for article in articles if article not in asked), key=digest)
    parts: dict[str, set[str]] = {"valid": set(), "train": set()}
    for name, wanted in (("valid", VALID_CHARACTERS), ("train", TRAIN_CHARACTERS)):
        while left and sum(map(len, parts[name])) < wanted:
            parts[name].add(left.pop())
    train, valid = ([article for article in articles if article in parts[name]] for name in ("train", "valid"))
    qa_train = without(by_rule(train), paragraph_runs(options.test))

    options.out.mkdir(parents=True, exist_ok=True)
    write_xz(options.out / "wiki-train.txt.xz", "\n\n".join(train) + "\n")
    write_xz(options.out / "wiki-valid.txt.xz", "\n\n".join(valid) + "\n")
    write_xz(options.out / "qa-train.json.xz", json.dumps(qa_train, ensure_ascii=False, separators=(",", ":")))
    write_xz(options.out / "qa-dev.json.xz", json.dumps(qa_dev, ensure_ascii=False, separators=(",", ":")))
    for name, part in (("wiki-train", train), ("wiki-valid", valid)):
        print(f"{name}: {len(part)} articles, {sum(map(len, part)):,} characters")
    for name, part in (("qa-train", qa_train), ("qa-dev", qa_dev)):
        questions = sum(len(p["qas"]) for a in part["data"] for p in a["paragraphs"])
        print(f"{name}: {len(part['data'])} articles, {questions:,} questions")
    print("bytes:", {path.name: path.stat().st_size for path in sorted(options.out.iterdir())})


if __name__ == "__main__":
    main()
