"""Score the shipped weights: measure.py MODEL DATA OUT.json [ko]

Questions: the bundled held-out ones, SQuAD 1.1 dev (all, and without the articles that stand in the pre-training text),
SQuAD 2.0 dev with the threshold of the weights, reviews (SQuADShifts amazon) and the fresh questions by kind of text,
both with the best span whatever its odds and as the pipeline tells them, which may say that there is no answer; errors
are over paragraphs. In Korean KorQuAD dev, F1 over characters, and the fresh questions, F1 over words. Names: UNER EWT,
WNUT-17, WikiANN. Coreference: OntoGUM, LitBank, GAP.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path

import numpy as np
from names import uner, whole_sentences, wikiann, wnut

from spanwise.interop.json_files import write_json
from spanwise.tasks.checkpoint import LoadedTask, load_task_model
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.ranking import Predictions
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores
from spanwise.text.word_runs import WordRuns
from spanwise.training.statistics import clustered_mean

RECORDS = Path(__file__).parents[1]
COPIED_SHARE = 0.2  # of an article's paragraphs with eight words in a row of the text: the article stands in it
ENGLISH = tuple(
    f"en/{name}"
    for name in ("wiki-small", *(f"wiki-base-0{k}" for k in range(4)), *(f"wiki-extra-0{k}" for k in range(6)))
)
KOREAN = ("ko/kowiki-base-00", "ko/kowiki-base-01")


def main() -> None:
    model, data, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    found = korean(model, data) if sys.argv[4:] == ["ko"] else english(model, data)
    write_json(out, found)
    print(json.dumps(found, indent=1, ensure_ascii=False))


def english(model: str, data: Path) -> dict[str, object]:
    reader = load_task_model(model, "qa")
    squad = read_questions(data / "qa/squad/dev-v1.1.json.xz")
    scores = answered(reader, squad)
    known = articles_in_text(squad, data, ENGLISH)
    fresh = read_questions(RECORDS / "fresh-questions" / "english.json")
    amazon = read_questions(data / "qa/squadshifts/amazon_reviews_v1.0.json.xz")
    guesses = {name: asked(reader, one) for name, one in (("reviews", amazon), ("fresh", fresh))}
    threshold = reader.task.null_threshold
    bundled = read_questions(Path(str(files("spanwise.quickstart"))) / "corpus" / "qa-dev.json.xz")
    return {
        "bundled": mean(bundled, answered(reader, bundled)),
        "SQuAD 1.1 dev": mean(squad, scores),
        "SQuAD 1.1 dev, articles not in the text": mean(squad, scores, outside(known, squad)),
        "articles in the text": sorted(known),
        "SQuAD 2.0 dev": evaluated("qa", model, data / "qa/squad/dev-v2.0.json.xz"),
        "reviews": mean(amazon, scored(amazon, guesses["reviews"])),
        "reviews, as the pipeline answers": mean(amazon, scored(amazon, guesses["reviews"], threshold)),
        "fresh": by_kind(fresh, scored(fresh, guesses["fresh"])),
        "fresh, as the pipeline answers": by_kind(fresh, scored(fresh, guesses["fresh"], threshold)),
        **names_of(model, data),
        "OntoGUM dev": evaluated("coref", model, data / "coref/ontogum/dev.conll.xz"),
        "LitBank dev": evaluated("coref", model, data / "coref/litbank/dev.conll.xz"),
        "GAP development": evaluated("coref", model, data / "coref/gap/gap-development.tsv.xz"),
    }


def korean(model: str, data: Path) -> dict[str, object]:
    file = data / "qa/korquad/KorQuAD_v1.0_dev.json.xz"
    korquad = read_questions(file)
    known = articles_in_text(korquad, data, KOREAN)
    scores = answered(load_task_model(model, "qa"), korquad)
    return {
        "KorQuAD dev": mean(korquad, scores),
        "KorQuAD dev, articles not in the text": mean(korquad, scores, outside(known, korquad)),
        "articles in the text": sorted(known),
        "fresh": evaluated("qa", model, RECORDS / "fresh-questions" / "korean.json"),
    }


def asked(reader: LoadedTask, data: SquadData) -> Predictions:
    """Return what a reader finds."""
    features = reader.task.featurize(data, reader.tokenizer, reader.model.encoder.config, training=False)
    return reader.task.decode(data, features, reader.model.outputs(features))


def scored(data: SquadData, predictions: Predictions, threshold: float | None = None) -> dict[str, tuple[float, float]]:
    """Return exact match and F1 (0 or 1, 0 to 1) per question id. threshold: of "no answer"; None: always a guess."""
    scores = raw_scores(data, predictions.answers(threshold))
    return {key: (scores.exact[key], scores.f1[key]) for key in scores.f1}


def answered(reader: LoadedTask, data: SquadData) -> dict[str, tuple[float, float]]:
    """Return the scores of the best span of each question, whatever its odds."""
    return scored(data, asked(reader, data))


def outside(known: set[str], data: SquadData) -> set[str]:
    """Return the ids of the questions about other articles than those."""
    return {question.id for question in data.questions if data.titles[question.paragraph] not in known}


def mean(data: SquadData, scores: dict[str, tuple[float, float]], of: set[str] | None = None) -> dict[str, float]:
    """Return the means in percent, of all questions or of those named, with standard errors over paragraphs."""
    asked = [question for question in data.questions if of is None or question.id in of]
    paragraphs = np.array([question.paragraph for question in asked])
    found: dict[str, float] = {"questions": len(asked)}
    for place, name in enumerate(("exact", "f1")):
        values = 100 * np.array([scores[question.id][place] for question in asked])
        estimate = clustered_mean(values, paragraphs)
        found |= {name: estimate.value, f"{name}, standard error": estimate.standard_error}
    return found


def by_kind(data: SquadData, scores: dict[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    """Return the means of the fresh questions, all and by the second part of their ids."""
    kinds = defaultdict(set)
    for key in scores:
        kinds[key.split("-")[1]].add(key)
    return {"all": mean(data, scores), **{kind: mean(data, scores, of) for kind, of in sorted(kinds.items())}}


def names_of(model: str, data: Path) -> dict[str, object]:
    """Score names in web text, in comments, whose kinds WNUT-17 names otherwise, and in Wikipedia with its headings."""
    texts = list(wikiann(data, "dev.txt.xz"))
    parts = {
        "UNER EWT dev": uner(data),
        "WNUT-17 dev": wnut(data, "emerging.dev.conll"),
        "WikiANN dev": texts,
        "WikiANN dev, whole sentences": whole_sentences(texts),
    }
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, object] = {}
        for name, lines in parts.items():
            file = Path(folder) / "dev.conll"
            file.write_text("".join(lines), encoding="utf-8")
            found[name] = evaluated("tagging", model, file)
        return found


def articles_in_text(squad: SquadData, data: Path, texts: Sequence[str]) -> set[str]:
    """Return the titles of which many paragraphs share eight words in a row with the pre-training text."""
    runs = WordRuns(squad.contexts)
    shared: set[str] = set()
    for name in texts:
        with lzma.open(data / f"text/{name}.txt.xz", "rt", encoding="utf-8") as lines:
            shared.update(chain.from_iterable(runs.shared(line) for line in lines if runs.shares(line)))
    copied = defaultdict(list)
    for context, name in zip(squad.contexts, squad.titles, strict=True):
        copied[name].append(any(run in shared for run in WordRuns([context]).shared(context)))
    return {name for name, found in copied.items() if sum(found) >= COPIED_SHARE * len(found)}


def evaluated(task: str, model: str, file: Path) -> dict[str, object]:
    """Return what `spanwise evaluate` prints."""
    command = ["spanwise", "evaluate", task, "--model", model, "--data", str(file), "--json"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(made.stdout)
    return found


if __name__ == "__main__":
    main()
