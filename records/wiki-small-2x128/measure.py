"""Measure every arm and seed, fine-tune question answering from each, and write result.json; call it again to go on.

    python measure.py DATA_FOLDER OUT_FOLDER

OUT_FOLDER is what pretrain.sh filled. DATA_FOLDER holds probes/blimp_first200.jsonl.xz,
qa/squadshifts/new_wiki_v1.0.json.xz (7,938 questions: training) and qa/squad/dev-v1.1.json.xz (10,570: the score).
The control arm "none" has the very weights that training began with, one network a seed.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from scipy.stats import t as student

sys.path.insert(0, str(Path(__file__).parent))
import arms

import spanwise
from spanwise.data.token_store import TokenStore
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.comparison import baseline_scores
from spanwise.pretraining.measure import facts_of, score_hidden
from spanwise.pretraining.minimal_pairs import judge_minimal_pairs, read_minimal_pairs
from spanwise.pretraining.system import build_model, continue_model, validation_source
from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.registry import task_recipe

SEEDS, ARMS = (0, 1, 2), ("mlm_sbo", "mlm", "none")
PACKS = 40  # of held-out text: some 160,000 tokens, 24,000 of them hidden
QA = {"max_length": 256, "doc_stride": 128}


def model_of(arm: str, seed: int, out: Path, store: TokenStore):
    recipe = arms.mlm_sbo() if arm == "none" else getattr(arms, arm)()
    recipe = replace(recipe, training=replace(recipe.training, seed=seed))
    if arm == "none":
        return build_model(recipe, store.vocabulary.size)
    return continue_model(recipe, read_folder(out / f"{arm}-{seed}" / "final"))[0]


def language_measures(model, store: TokenStore, valid: TokenStore, pairs) -> dict:
    """Loss and accuracy of hidden tokens, by distance from the visible ones, and BLiMP."""
    source = validation_source(arms.mlm_sbo(), valid)
    packs = [masked for index in range(PACKS) for masked in source.masked_step(index)]
    facts, found = facts_of(packs), {}
    columns = score_hidden(model, packs)
    columns |= baseline_scores(NeighbourBaseline.from_store(store), facts)
    for name, scores in columns.items():
        asked = scores.asked
        found[f"{name}_loss"] = float(scores.losses[asked].mean())
        found[f"{name}_accuracy"] = 100 * float(scores.correct[asked].mean())
        for depth in (1, 2, 3, 4, 5):
            here = asked & (facts.depth == depth)
            found[f"{name}_accuracy_at_{depth}"] = 100 * float(scores.correct[here].mean())
    right = judge_minimal_pairs(pairs, model.encoder, model.heads["mlm"], valid.tokenizer())
    found["blimp"] = 100 * float(right.mean())
    return found


def question_measures(arm: str, seed: int, out: Path, data: Path, model, tokenizer) -> dict:
    """Fine-tune on new-wiki questions and score all of SQuAD 1.1 dev."""
    start = out / f"{arm}-{seed}" / "final"
    if arm == "none":
        start = out / f"none-{seed}"
        if not start.exists():
            write_folder(start, FolderContent(model.encoder, {"mlm": model.heads["mlm"]}, tokenizer))
    recipe = task_recipe("qa")
    recipe = replace(
        recipe,
        task=replace(recipe.task, **QA),
        training=replace(recipe.training, learning_rate=1e-3, num_epochs=3, seed=seed, threads=1, log_every=50),
        hidden_dropout=0.1,
    )
    run = out / f"qa-{arm}-{seed}"
    spanwise.finetune(
        "qa", model=start, train=data / "qa/squadshifts/new_wiki_v1.0.json.xz", out=run, recipe=recipe, resume=True
    )
    scores = evaluate("qa", model=run / "final", data=data / "qa/squad/dev-v1.1.json.xz").scores
    return {"exact": scores["exact"], "f1": scores["f1"]}


def paired(values: dict, name: str, ours: str, control: str) -> dict | None:
    """Mean difference over seeds with its 95 % interval (Student's t, 2 degrees of freedom)."""
    rows = [(values[ours][s].get(name), values[control][s].get(name)) for s in map(str, SEEDS)]
    if any(a is None or b is None for a, b in rows):
        return None
    gain = np.array([a - b for a, b in rows])
    half = float(student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain)))
    mean = float(gain.mean())
    verdict = "holds zero" if abs(mean) <= half else "above" if mean > 0 else "below"
    return {"mean": mean, "low": mean - half, "high": mean + half, "interval": verdict}


def measure(arm: str, seed: int, data: Path, out: Path) -> dict:
    """All measures of one model, kept in `OUT/measures`: a model is measured once."""
    kept = out / "measures" / f"{arm}-{seed}.json"
    if not kept.exists():
        torch.set_num_threads(1)
        began = time.perf_counter()
        store, valid = TokenStore.open(out / "store"), TokenStore.open(out / "valid")
        pairs = read_minimal_pairs(data / "probes/blimp_first200.jsonl.xz")[::4]
        model = model_of(arm, seed, out, store)
        found = language_measures(model, store, valid, pairs)
        found |= question_measures(arm, seed, out, data, model, valid.tokenizer())
        kept.parent.mkdir(exist_ok=True)
        write_text_atomic(kept, json.dumps(found, indent=1) + "\n")
        shown = {name: round(value, 3) for name, value in found.items()}
        print(arm, seed, shown, f"{time.perf_counter() - began:.0f} s", flush=True)
    return json.loads(kept.read_text())


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    models = [(arm, seed) for seed in SEEDS for arm in ARMS]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as two_at_a_time:
        futures = [two_at_a_time.submit(measure, arm, seed, data, out) for arm, seed in models]
        values: dict = {arm: {} for arm in ARMS}
        for (arm, seed), future in zip(models, futures, strict=True):
            values[arm][str(seed)] = future.result()
    names = list(values["mlm_sbo"]["0"])
    tables = {
        f"{ours} against {control}": {name: paired(values, name, ours, control) for name in names}
        for ours, control in (("mlm_sbo", "none"), ("mlm", "none"), ("mlm_sbo", "mlm"))
    }
    write_text_atomic(out / "result.json", json.dumps({"values": values, "paired": tables}, indent=1) + "\n")


if __name__ == "__main__":
    main()
