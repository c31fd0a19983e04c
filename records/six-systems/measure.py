"""Put the six trained systems side by side: `python measure.py OUT` writes OUT/result.json and OUT/table.md.

Losses before and after training are the runs' own (held-out text, every hidden token behind [MASK]). The columns "same
masks" ask every masked language model, ELECTRA's generator among them, for the same hidden tokens: 15 % of the pieces
of single segments. Speed and memory are measured here, a system in a process of its own, some steps of each in turn:
real tokens a second of processor time, collation included; the peak resident set of the whole process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import systems

from spanwise.data.token_store import TokenStore
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.comparison import baseline_scores
from spanwise.pretraining.describe import describe_recipe
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import SubwordTokens
from spanwise.pretraining.measure import facts_of, score_hidden
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.system import build_model, continue_model, shaped_like, training_source, validation_source
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import read_metrics

PACKS = 40  # of held-out text: some 160,000 tokens
ROUNDS, STEPS_A_ROUND = 7, 5


def probe():
    """Single pieces of single segments, for a masked language model alone."""
    recipe = systems.spanbert()
    return replace(
        recipe,
        format=SingleSegment(max_length=systems.LENGTH),
        masking=SubwordTokens(),
        replacement=replace(recipe.replacement, unit="token"),
        objectives={"mlm": MaskedLM()},
    )


def same_masks(out: Path) -> dict[str, dict[str, float]]:
    """Loss in nats and hits in per cent of every masked language model, and of counting, on the same tokens."""
    store, valid = TokenStore.open(out / "store"), TokenStore.open(out / "valid")
    source = validation_source(probe(), valid)
    packs = [masked for index in range(PACKS) for masked in source.masked_step(index)]
    columns = baseline_scores(NeighbourBaseline.from_store(store), facts_of(packs))
    for name in systems.NAMES:
        folder = out / name / "final" / ("generator" if name == "electra" else "")
        checkpoint = read_folder(folder)
        if "mlm" in checkpoint.heads:
            model, _ = continue_model(shaped_like(probe(), checkpoint.config), checkpoint)
            columns[name] = score_hidden(model, packs)["mlm"]
    return {
        name: {"loss": float(scores.losses.mean()), "right": 100 * float(scores.correct.mean())}
        for name, scores in columns.items()
    }


def own_losses(run: Path) -> dict[str, dict[str, float]]:
    """Held-out measures of a run's own objectives before and after, and the tokens it read."""
    lines = list(read_metrics(run / "metrics.jsonl"))
    found = [line["evaluation"] for line in lines if "evaluation" in line]
    steps = [line for line in lines if "tokens" in line]
    return {"before": found[0], "after": found[-1], "tokens": steps[-1]["tokens"], "steps": steps[-1]["step"]}


def work(name: str, out: Path) -> None:
    """A system's own process: some steps for every line that comes in; processor seconds and tokens out."""
    import torch

    from spanwise.runtime.device import resolve_precision
    from spanwise.training.optim import build_optimizer
    from spanwise.training.step import Updater
    from spanwise.training.timing import SectionTimer

    torch.set_num_threads(1)
    recipe, store, device = getattr(systems, name)(), TokenStore.open(out / "store"), torch.device("cpu")
    model, source = build_model(recipe, store.vocabulary.size).train(), training_source(recipe, store)
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=device,
        precision=resolve_precision("auto", device),
        seed=0,
        max_grad_norm=recipe.training.max_grad_norm,
        timer=SectionTimer(device),
    )
    step = 0
    for _ in sys.stdin:
        begin, tokens = time.process_time(), 0
        for _ in range(STEPS_A_ROUND):
            batches = source.step(step)
            step += 1
            updater.update(step, batches, 4e-3)
            tokens += sum(batch.num_tokens for batch in batches)
        seconds = time.process_time() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"rate": tokens / seconds, "memory": memory}), flush=True)


def speeds(out: Path) -> dict[str, dict[str, float]]:
    """Every system in turn; the first round warms up."""
    processes = {
        name: subprocess.Popen(
            [sys.executable, __file__, str(out), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
        for name in systems.NAMES
    }
    rates: dict[str, list[float]] = {name: [] for name in processes}
    memory = {}
    for index in range(-1, ROUNDS):
        for name, process in processes.items():
            process.stdin.write("\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            memory[name] = answer["memory"] / 2**20
            if index >= 0:
                rates[name].append(answer["rate"])
    for process in processes.values():
        process.stdin.close()
        process.wait()
    return {
        name: {
            "tokens_a_second": float(np.median(values)),
            "spread": np.percentile(values, [25, 75]).tolist(),
            "peak_mib": memory[name],
        }
        for name, values in rates.items()
    }


def table(result: dict) -> str:
    """The figures in Markdown."""
    rows = [
        "| | parameters | own losses, held out: before, after | same masks: MLM, nats (right) | tokens/s | memory |",
        "|---|---|---|---|---|---|",
    ]
    for name in systems.NAMES:
        one = result["systems"][name]
        before, after = one["losses"]["before"], one["losses"]["after"]
        own = [f"{key[:-5]} {before[key]:.3f}, {after[key]:.3f}" for key in after if key.endswith("_loss")]
        own += [
            f"{key[:-9]} right {100 * after[key]:.1f} %" for key in ("nsp_accuracy", "sop_accuracy") if key in after
        ]
        mlm = result["same_masks"].get(name)
        shown = f"{mlm['loss']:.3f} ({mlm['right']:.1f} %)" if mlm else "-"
        speed = one["speed"]
        rows.append(
            f"| {name} | {one['parameters']['total'] / 1e6:.2f} M | {'; '.join(own)} | {shown} "
            f"| {speed['tokens_a_second']:,.0f} | {speed['peak_mib']:,.0f} MiB |"
        )
    for name in ("unigram", "bigram"):
        mlm = result["same_masks"][name]
        rows.append(f"| {name} of the text | - | - | {mlm['loss']:.3f} ({mlm['right']:.1f} %) | - | - |")
    return "\n".join(rows) + "\n"


def main() -> None:
    out = Path(sys.argv[1])
    if len(sys.argv) > 2:
        work(sys.argv[2], out)
        return
    vocab_size = TokenStore.open(out / "store").vocabulary.size
    speed = speeds(out)
    result = {
        "systems": {
            name: {
                "parameters": describe_recipe(getattr(systems, name)(), vocab_size)["parameters"],
                "losses": own_losses(out / name),
                "speed": speed[name],
            }
            for name in systems.NAMES
        },
        "same_masks": same_masks(out),
    }
    write_text_atomic(out / "result.json", json.dumps(result, indent=1) + "\n")
    write_text_atomic(out / "table.md", table(result))
    print(table(result))


if __name__ == "__main__":
    main()
