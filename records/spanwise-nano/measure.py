"""Measure spanwise-nano beside random weights and beside its own beginning; call it again to go on.

    python measure.py DATA OUT [en or ko] [RECIPE]

OUT is what run.sh filled from RECIPE (spanbert-nano, or spanbert-nano-ko). DATA holds tagging/conll2000 (train, test),
coref/ontogum (train, dev) and probes/blimp; of the Korean model the hidden tokens alone are asked for. Columns: `nano`
as trained, `counted` the weights that its training began with (word vectors and biases counted in the text, everything
else random), `random` the same without the text, a network a seed.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from scipy.stats import t as student

from spanwise.data.token_store import TokenStore
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.pretraining.initial.from_text import begin_from_text
from spanwise.pretraining.mixtures.mixture import mixture_of
from spanwise.pretraining.ready import VECTORS_NAME
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import build_model
from spanwise.recipes import find
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes import find_probe
from spanwise.studies.probes.base import Context, Material, find_files
from spanwise.studies.probes.masked_tokens import MaskedTokens
from spanwise.studies.probes.tagged import Chunks

RECIPES = {"en": "spanbert-nano", "ko": "spanbert-nano-ko"}
SEEDS, COLUMNS = range(5), ("nano", "counted", "random")
PROBES = {
    "en": {
        "masked-tokens": MaskedTokens(),
        "chunks": Chunks(sizes=(100,)),
        "span-pairs": find_probe("span-pairs"),
        "minimal-pairs": find_probe("minimal-pairs"),
    },
    "ko": {"masked-tokens": MaskedTokens()},
}


def model_folder(column: str, seed: int, out: Path, store: TokenStore, recipe: PretrainingRecipe) -> Path:
    """The model of a column, made where it is not there."""
    if column == "nano":
        return out / "pretraining" / "final"
    folder = out / "columns" / f"{column}-{seed}"
    if not folder.exists():
        recipe = replace(recipe, training=replace(recipe.training, seed=seed))
        model = build_model(recipe, store.vocabulary.size)
        if column == "counted":
            begin_from_text(model, recipe, mixture_of(store), out / "pretraining" / VECTORS_NAME, RunLog(None))
        write_folder(folder, FolderContent(model.encoder, dict(model.heads.items()), store.tokenizer()))
    return folder


def measure(column: str, seed: int, data: Path, out: Path, language: str, reference: str) -> dict[str, float]:
    """All figures of one model and seed, kept in OUT/measures; the losses of one network are asked for once."""
    kept = out / "measures" / f"{column}-{seed}.json"
    if not kept.exists():
        torch.set_num_threads(1)
        store, valid = TokenStore.open(out / "store"), TokenStore.open(out / "valid")
        recipe = find(reference)
        model = model_folder(column, seed, out, store, recipe)
        found: dict[str, float] = {}
        for name, probe in PROBES[language].items():
            if name != "chunks" and seed:
                continue
            material = Material(
                store=store, valid=valid, files=find_files(probe, data), cuts=out / "cuts" / name, max_length=256
            )
            place = out / "probes" / f"{column}-{seed}"
            context = Context(material=material, model=model, recipe=recipe, seed=seed, out=place, log=RunLog(place))
            found |= {f"{name}: {key}": value for key, value in probe.measure(context).items()}
            if column == "nano" and not seed:
                for baseline, figures in probe.baselines(material).items():
                    found |= {f"{name}: {baseline}: {key}": value for key, value in figures.items()}
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomic(kept, json.dumps(found, indent=1) + "\n")
        print(column, seed, "done", flush=True)
    values: dict[str, float] = json.loads(kept.read_text())
    return values


def paired(a: list[float], b: list[float]) -> dict[str, float]:
    """Mean difference of seeds and its 95 % interval (Student's t)."""
    gain = np.array(a) - np.array(b)
    half = float(student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain)))
    return {"mean": float(gain.mean()), "low": float(gain.mean()) - half, "high": float(gain.mean()) + half}


def main() -> None:
    data, out, language = Path(sys.argv[1]), Path(sys.argv[2]), (sys.argv[3:] or ["en"])[0]
    reference = (sys.argv[4:] or [RECIPES[language]])[0]
    seeds = SEEDS if "chunks" in PROBES[language] else (0,)
    units = [(column, seed) for seed in seeds for column in COLUMNS]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as two_at_a_time:
        futures = [two_at_a_time.submit(measure, *unit, data, out, language, reference) for unit in units]
        values = {f"{c}-{s}": future.result() for (c, s), future in zip(units, futures, strict=True)}
    gains = {}
    if len(seeds) > 1:
        chunks = {c: [values[f"{c}-{s}"]["chunks: f1_at_100"] for s in seeds] for c in COLUMNS}
        gains = {f"{a} over {b}": paired(chunks[a], chunks[b]) for a, b in (("nano", "random"), ("nano", "counted"))}
    text = json.dumps({"values": values, "chunks at 100, F1": gains}, indent=1)
    write_text_atomic(out / "result.json", text + "\n")
    print(json.dumps(gains, indent=1))


if __name__ == "__main__":
    main()
