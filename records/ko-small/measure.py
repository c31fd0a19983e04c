"""Everything of result.json: held-out losses beside counting baselines and random weights, and KorQuAD answers.

usage: measure.py OUT_FOLDER

Standard errors and 95 % intervals cluster by sequence (hidden tokens) and by article (questions, their scores first
averaged over the seeds of fine-tuning). EM and F1 over characters are KorQuAD's: brackets, quotes and signs are blanks,
blanks do not count; F1 over words is SQuAD's.
"""

import json
import string
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from recipe import ko_small

from spanwise.data.token_store import TokenStore
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.comparison import baseline_scores, compare
from spanwise.pretraining.measure import facts_of, score_hidden
from spanwise.pretraining.system import build_model, continue_model, validation_source
from spanwise.runtime.progress import read_metrics
from spanwise.tasks.qa.reader import SquadData, read_predictions, read_questions
from spanwise.tasks.qa.score import raw_scores
from spanwise.training.statistics import clustered_mean, paired_difference

ARMS = ("trained", "random")
PACKS = 60  # of held-out text: some 245,000 tokens, 37,000 of them hidden
BLANK = str.maketrans({character: " " for character in "'\"《》<>〈〉()‘’"})
NO_SIGNS = str.maketrans("", "", string.punctuation)


def normal(answer: str) -> str:
    return " ".join(answer.translate(BLANK).lower().translate(NO_SIGNS).split())


def character_scores(predicted: str, gold: str) -> tuple[float, float]:
    """Exact match and F1 over characters, 0 to 100, as KorQuAD counts them."""
    ours, theirs = normal(predicted), normal(gold)
    shared = sum((Counter(ours.replace(" ", "")) & Counter(theirs.replace(" ", ""))).values())
    lengths = len(ours.replace(" ", "")) + len(theirs.replace(" ", ""))
    return 100.0 * (ours == theirs), 200.0 * shared / max(1, lengths)


def language_measures(out: Path) -> dict:
    """Made once and kept in OUT/held_out.json."""
    kept = out / "held_out.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    store, valid = TokenStore.open(out / "store"), TokenStore.open(out / "valid")
    source = validation_source(ko_small(), valid)
    packs = [masked for index in range(min(PACKS, source.num_packs(0))) for masked in source.masked_step(index)]
    facts = facts_of(packs)
    models = {
        "control": score_hidden(build_model(ko_small(), store.vocabulary.size), packs),
        "trained": score_hidden(continue_model(ko_small(), read_folder(out / "pretrain" / "final"))[0], packs),
    }
    compared = compare(facts, baseline_scores(NeighbourBaseline.from_store(store), facts), models)
    found = {
        "hidden_tokens": len(facts.original_ids),
        "measures": compared.measures,
        "by_distance": compared.by_distance,
        "store": {
            "documents": store.num_documents,
            "tokens": store.num_tokens,
            "unknown_share": float(store.vocabulary.unigram_counts[store.vocabulary.unk_id] / store.num_tokens),
        },
    }
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def borders(data: SquadData, tokenizer) -> dict:
    """How many answers begin and end where pieces do: what exact match can reach."""
    encodings = tokenizer.encode_batch(data.contexts)
    reached = 0
    for question in data.questions:
        offsets = encodings[question.paragraph].offsets
        answer = question.answers[0]
        reached += answer.start in offsets[:, 0] and answer.end in offsets[:, 1]
    return {"questions": len(data.questions), "reachable": 100.0 * reached / len(data.questions)}


def question_measures(out: Path) -> dict:
    data = read_questions(out / "korquad-dev.json", purpose="score")
    parts = read_questions(out / "korquad-dev-nfd.json", purpose="score")
    articles = np.unique([data.titles[question.paragraph] for question in data.questions], return_inverse=True)[1]
    names = ("exact", "character_f1", "word_f1")
    seeds = [seed for seed in range(10) if all((out / f"qa-{arm}-{seed}" / "dev-nfd.json").exists() for arm in ARMS)]
    if not seeds:
        return {}
    values: dict = {arm: {name: [] for name in names} for arm in ARMS}
    same = []
    for arm in ARMS:
        for seed in seeds:
            folder = out / f"qa-{arm}-{seed}"
            predictions = read_predictions(folder / "dev.json")
            best = [
                np.max([character_scores(predictions[question.id], gold.text) for gold in question.answers], axis=0)
                for question in data.questions
            ]
            exact, f1 = np.array(best).T
            raw = raw_scores(data, predictions)
            words = 100.0 * np.array([raw.f1[question.id] for question in data.questions])
            for name, found in zip(names, (exact, f1, words), strict=True):
                values[arm][name].append(found)
            typed = raw_scores(parts, read_predictions(folder / "dev-nfd.json"))
            same.append(typed.exact == raw.exact and typed.f1 == raw.f1)
    found: dict = {"nfd_scores_are_the_same": all(same), "arms": {}, "trained against random": {}}
    for arm in ARMS:
        found["arms"][arm] = {"seeds": {}}
        for name in names:
            mean = clustered_mean(np.mean(values[arm][name], axis=0), articles)
            found["arms"][arm][name] = {"value": mean.value, "se": mean.standard_error}
            found["arms"][arm]["seeds"][name] = [float(one.mean()) for one in values[arm][name]]
    for name in names:
        ours, control = (np.mean(values[arm][name], axis=0) for arm in ARMS)
        gain = paired_difference(ours, control, articles)
        found["trained against random"][name] = {
            "value": gain.value,
            "low": gain.low,
            "high": gain.high,
            "verdict": gain.verdict,
        }
    return found


def main() -> None:
    out = Path(sys.argv[1])
    steps = [line for line in read_metrics(out / "pretrain" / "metrics.jsonl") if "loss" in line]
    tokenizer = TokenStore.open(out / "store").tokenizer()
    result = {
        "pretraining": {
            "steps": steps[-1]["step"],
            "tokens": steps[-1]["tokens"],
            "epochs": steps[-1]["epoch"],
            "minutes": steps[-1]["seconds"] / 60,
            "tokens_per_second": float(np.median([line["tokens_per_second"] for line in steps])),
        },
        "held_out": language_measures(out),
        "korquad": {
            "borders": borders(read_questions(out / "korquad-dev.json"), tokenizer),
            **question_measures(out),
        },
    }
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    (out / "result.json").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
