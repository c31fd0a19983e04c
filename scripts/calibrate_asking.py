"""Fit the weights by which `spanwise ask` merges and trusts answers, and write src/spanwise/asking/calibration.json.

    python scripts/calibrate_asking.py [--questions 100] [--language en|ko]

To be run again whenever the shipped weights change. The questions are the bundled ones of which no shipped weights
learned (qa-dev; in Korean also own-questions, as there are few). Each is asked four times: of a folder of the bundled
Wikipedia text and all their paragraphs, of the same folder without its own article, and of small folders, its own
article alone and another article alone. SQuAD dev and KorQuAD dev are not looked at. Written are also how well it went:
F1 against the reader's from the right paragraph, and the rates behind the threshold. 100 questions take some 5 minutes
of one core.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fit_asking_weights import Asked, fit_weights

import spanwise.asking
from spanwise.asking.ask import PASSAGES, TextFolder
from spanwise.asking.merging import WEIGHTS_FILE, MergingWeights, merge
from spanwise.asking.term_weights import Hit
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.texts import Language
from spanwise.runtime.files import JsonObject
from spanwise.tasks.qa.data import Question, SquadData, join_questions
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import METRICS, Metric
from spanwise.text.corpus import CorpusOptions, read_documents

METRIC = {"en": METRICS["squad"], "ko": METRICS["korquad"]}
MORE = 20  # passages that are looked for beyond those that are read, since those of the article are passed over


def best_f1(metric: Metric, text: str, question: Question) -> float:
    """Return the best F1 of a text over the right answers."""
    guess = metric.normalize(text)
    golds = (metric.normalize(answer.text) for answer in question.answers)
    return max(metric.f1(gold, guess, empty_may_match=False) for gold in golds)


def write_folder(folder: Path, language: Language) -> tuple[SquadData, dict[str, str]]:
    """Write the paragraphs of the questions, one folder an article, and the Wikipedia text; return the questions, and
    the folder of each paragraph."""
    with open_bundle(language) as bundle:
        files = [bundle.qa_dev] + ([bundle.own_questions] if language == "ko" else [])
        data = join_questions([read_questions(file) for file in files])
        articles: dict[str, list[str]] = {}
        for context, title in zip(data.contexts, data.titles, strict=True):
            articles.setdefault(title, []).append(context)
        homes: dict[str, str] = {}
        for number, paragraphs in enumerate(articles.values()):
            home = f"article-{number:03}"
            homes |= dict.fromkeys(paragraphs, home)
            (folder / home).mkdir()
            text = "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
            (folder / home / "text.txt").write_text(text, encoding="utf-8")
        for name, path in (("train", bundle.train_text), ("valid", bundle.valid_text)):
            documents = read_documents([path], CorpusOptions(language=language))
            texts = [" ".join(document.sentences) for document in documents]
            kept = [text for text in texts if not any(paragraph in text for paragraph in homes)]
            (folder / f"wiki-{name}.txt").write_text("\n\n".join(kept), encoding="utf-8")
    return data, homes


def asked_of(text: TextFolder, question: Question, hits: Sequence[Hit], language: Language) -> Asked:
    """Return what is found in some passages, and the F1 of each candidate."""
    passages = [text.index.passage(hit.number) for hit in hits]
    found = text.candidates(question.text, hits, passages, language)
    words = [passages[place].text[start:end] for place, start, end in found.places]
    scores = [best_f1(METRIC[language], answer, question) for answer in words]
    return Asked(candidates=found, f1_C=np.array(scores, dtype=np.float64))


def first_f1(asked: Asked, weights: MergingWeights) -> tuple[float, float]:
    """Return the F1 of the answer that would be given, and its probability."""
    found = merge(asked.candidates, weights, 1)
    if not found:
        return 0.0, 0.0
    best = found[0]
    return float(asked.f1_C[asked.candidates.places.index((best.passage, best.start, best.end))]), best.probability


def measure(
    with_it: Sequence[Asked], without: Sequence[Asked], right: Sequence[float], weights: MergingWeights
) -> dict:
    """Return how well the weights do on the questions that they were fitted on."""
    answered = np.array([first_f1(asked, weights) for asked in with_it])
    silent = np.array([first_f1(asked, weights)[1] < weights.threshold for asked in without])
    kept = answered[:, 1] >= weights.threshold
    return {
        "questions": len(with_it),
        "f1_right_passage": round(100 * float(np.mean(right)), 1),
        "f1": round(100 * float(answered[:, 0].mean()), 1),
        "answered_with_passage": round(100 * float(kept.mean()), 1),
        "f1_of_answered": round(100 * float(answered[kept, 0].mean()), 1) if kept.any() else None,
        "silent_without_passage": round(100 * float(silent.mean()), 1),
    }


def calibrate(language: Language, num_questions: int) -> JsonObject:
    """Return the record of a language."""
    with tempfile.TemporaryDirectory() as name:
        data, homes = write_folder(Path(name), language)
        text = TextFolder(name, say=print)
        small = {home: TextFolder(Path(name, home)) for home in dict.fromkeys(homes.values())}
        names = list(small)
        with_it: list[Asked] = []
        without: list[Asked] = []
        right: list[float] = []
        for place in np.unique(np.linspace(0, len(data.questions) - 1, num_questions).astype(int)).tolist():
            question = data.questions[place]
            home = homes[data.context_of(question)]
            hits = text.index.weights.search(question.text, PASSAGES + MORE)
            others = [hit for hit in hits if not text.index.file_of(hit.number).file.name.startswith(home)]
            with_it.append(asked_of(text, question, hits[:PASSAGES], language))
            without.append(asked_of(text, question, others[:PASSAGES], language))
            right.append(_from_right(text, question, data.context_of(question), language))
            stranger = names[(names.index(home) + 1 + place % (len(names) - 1)) % len(names)]
            for folder, found in ((small[home], with_it), (small[stranger], without)):
                near = folder.index.weights.search(question.text, PASSAGES)
                found.append(asked_of(folder, question, near, language))
    weights = fit_weights(with_it, [_unanswered(one) for one in without])
    record = {"ranking": weights.ranking, "certainty": weights.certainty, "threshold": weights.threshold}
    return {
        **record,
        "large_folder": measure(with_it[::2], without[::2], right, weights),
        "small_folder": measure(with_it[1::2], without[1::2], right, weights),
    }


def _unanswered(asked: Asked) -> Asked:
    return Asked(candidates=asked.candidates, f1_C=np.zeros_like(asked.f1_C))


def _from_right(text: TextFolder, question: Question, context: str, language: Language) -> float:
    read = text.reader(language).read(question.text, [context])[0]
    spans = [context[span.start : span.end] for span in read.spans]
    return best_f1(METRIC[language], spans[0], question) if spans else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100, help="at most so many of each language")
    parser.add_argument("--language", choices=["en", "ko"], help="only this one; default: both")
    options = parser.parse_args()
    path = Path(spanwise.asking.__path__[0]) / WEIGHTS_FILE
    languages: list[Language] = [options.language] if options.language else ["en", "ko"]
    for language in languages:
        record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        record[language] = calibrate(language, options.questions)
        print(language, json.dumps(record[language], indent=1))
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
