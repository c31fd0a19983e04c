"""How often oneDNN builds a kernel in fine-tuning, and what that costs: packs of many sizes on a CPU, in bf16.

    python benchmarks/kernel_builds.py [--steps 150] [--json]

A text classifier (2 layers x 128, random weights) is fine-tuned on drawn texts of mixed length, batches of 16, by two
processes, one after the other, each with one thread:

- ours: rows of matrix products come in few counts (`spanwise.runtime.row_counts`);
- as they come: the same with every number of rows taken as it is.

Counted are the kernels that oneDNN says it has built (`ONEDNN_VERBOSE=profile,create`), the seconds it says that took,
the processor time of the whole process and its peak memory. Both draw the same batches.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDED, AS_THEY_COME = "ours", "as they come"
NUM_TEXTS, NUM_WORDS = 4_000, 2_000
_BUILT = re.compile(r"^onednn_verbose.*,create:cache_miss,.*,([\d.]+)$", re.MULTILINE)


def write_texts(path: Path) -> None:
    """Labelled texts as long as sentences and paragraphs are (lognormal, 8 to 250 words)."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(np.log(40), 0.8, NUM_TEXTS), 8, 250).astype(int)
    rows = [" ".join(f"w{word}" for word in rng.integers(0, NUM_WORDS, length)) for length in lengths]
    lines = [f"{text}\t{'yes' if ' w7 ' in text else 'no'}" for text in rows]
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")


def make_model(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertModel

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(NUM_WORDS))]
    shape = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(words), **shape)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def work(side: str, folder: Path, steps: int) -> None:
    """One side, in a process of its own."""
    from spanwise.runtime import row_counts
    from spanwise.runtime.memory import peak_resident_bytes

    if side == AS_THEY_COME:
        row_counts.rounded_rows = lambda num_rows: num_rows  # before any module takes the name
    from spanwise.cli.main import main as spanwise

    command = ["finetune", "classification", "--model", str(folder / "model"), "--train", str(folder / "train.tsv")]
    command += ["--out", str(folder / side.replace(" ", "-")), "--json", "--set", "training.precision=bf16"]
    values = [f"training.max_steps={steps}", "training.num_epochs=null", "training.threads=1", "batch_size=16"]
    values += ["training.learning_rate=2e-5", "hidden_dropout=null"]  # null: the encoder's own
    began = time.process_time()
    with open(os.devnull, "w") as nowhere:
        told, sys.stdout = sys.stdout, nowhere
        status = spanwise([*command, *(part for value in values for part in ("--set", value))])
        sys.stdout = told
    if status:
        raise SystemExit(status)
    seconds = time.process_time() - began
    print("\n" + json.dumps({"seconds": seconds, "peak_mib": peak_resident_bytes() / 2**20}))


def measure(side: str, folder: Path, steps: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", side, "--folder", str(folder), "--steps", str(steps)]
    settings = {"ONEDNN_VERBOSE": "profile,create", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    milliseconds = [float(found) for found in _BUILT.findall(done.stdout)]
    told = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    return {"kernels": len(milliseconds), "building_seconds": sum(milliseconds) / 1_000, **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", choices=(ROUNDED, AS_THEY_COME), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.folder, options.steps)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(folder / "train.tsv")
        make_model(folder / "model")
        found = {side: measure(side, folder, options.steps) for side in (ROUNDED, AS_THEY_COME)}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for side, figures in found.items():
        print(
            f"{side}: {figures['kernels']:,} kernels built in {figures['building_seconds']:.1f} s, "
            f"{figures['seconds']:.1f} s of processor time in all, {figures['peak_mib']:,.0f} MiB at the most"
        )


if __name__ == "__main__":
    main()
