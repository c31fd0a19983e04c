"""Answering questions against the class of transformers that most people predict with.

    python benchmarks/qa_prediction.py [--data SQUAD.json [--tokenizer DIR]] [--json] [--rounds N] [--threads 2]
        [--clock cpu]

BERT-base (12 layers x 768, vocabulary 30,000, the same random weights on all sides), windows of at most 384 tokens.
Their lengths are drawn as those of SQuAD are (lognormal, mean about 172 tokens with question and specials), or are the
questions of `--data` (cut by a tokenizer learned from it, or by `--tokenizer`). Windows are made beforehand; counted is
the time from windows to start and end logits, on our side with packing and assembly.

- ours, fp32: `TaskModel.outputs`, which `evaluate`, `predict` and the pipeline call: windows of different passages in
  packs of 4,096 tokens, no padding;
- ours, bf16: the same with `precision="auto"`;
- ours, int8: the same of a model loaded with `precision="int8"`: layers multiply bytes, the rest is bf16;
- peer: `BertForQuestionAnswering`, SDPA, fp32, every window padded to 384, 8 a batch.

Speed is in real tokens a second. Every side runs in its own process, a step of the same 8 windows each in turn, so a
busy machine slows all; ratios are medians of the rounds' ratios, the spread is their middle half. All logits of ours in
fp32 must lie within 1e-3 of the peer's, and the share of windows whose best start and end are the same is told.
The int8 side is left out where the machine has no products of bytes.
`--clock cpu --threads 1` counts processor time in place of wall-clock time: fairer on a machine that others use.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from interleaved import has_bf16, rounds_within

VOCAB_SIZE, LONGEST, BATCH, NUM_WINDOWS, FIRST_WORD = 30_000, 384, 8, 512, 5
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIDES = ("ours, fp32", "ours, bf16", "ours, int8", "peer")
GOALS = {"ours, fp32": 2.5, "ours, bf16": 4.5, "ours, int8": 6.0}
PRECISIONS = {"ours, fp32": "fp32", "ours, bf16": "auto", "ours, int8": "int8"}
TOLERANCE = 1e-3
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def synthetic_questions(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """A file of questions on passages as long as SQuAD's, of words that fall like 1 / rank and are one token each."""
    words = [*SPECIALS, *(f"w{number}" for number in range(VOCAB_SIZE - FIRST_WORD))]
    (folder / "words").mkdir()
    (folder / "words" / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    rng = np.random.default_rng(seed)

    def text(length: int) -> str:
        ranks = np.exp(rng.random(length) * np.log(VOCAB_SIZE - FIRST_WORD)).astype(np.int64)
        return " ".join(words[FIRST_WORD + rank - 1] for rank in ranks)

    passages = np.clip(rng.lognormal(np.log(146), 0.42, NUM_WINDOWS), 20, 350).astype(int)
    questions = np.clip(rng.normal(13, 4, NUM_WINDOWS), 4, 30).astype(int)
    paragraphs = [
        {"context": text(n), "qas": [{"id": str(k), "question": text(m)}]}
        for k, (n, m) in enumerate(zip(passages, questions, strict=True))
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps({"data": [{"title": "drawn", "paragraphs": paragraphs}]}), encoding="utf-8")
    return path, folder / "words"


def make_model(folder: Path, tokenizer_folder: Path, shape: dict[str, int] | None = None) -> None:
    """The same random weights for all sides: a folder of BERT-base's shape that `BertForQuestionAnswering` reads, or of
    another shape."""
    import torch

    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.heads.qa import QuestionAnsweringHead
    from spanwise.nn.init import initialize
    from spanwise.recipes.sizes import BASE
    from spanwise.text.tokenizers import Tokenizer

    encoder = Encoder(replace(BASE.for_vocabulary(VOCAB_SIZE), **(shape or {})))
    initialize(encoder, encoder.config, seed=0)
    head = QuestionAnsweringHead(encoder.config)
    initialize(head, encoder.config, seed=0, prefix="qa")
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.mul_(1.0 / encoder.config.initializer_range)  # so that the best start is clearly the best
    write_folder(folder, FolderContent(encoder, {"qa": head}, Tokenizer.load(tokenizer_folder), main_head="qa"))


def make_windows_of(data: Path, tokenizer_folder: Path):
    """All windows, in a drawn order of questions."""
    from spanwise.tasks.qa.features import make_windows
    from spanwise.tasks.qa.reader import read_questions
    from spanwise.text.tokenizers import Tokenizer

    questions = read_questions(data, purpose="predict")
    return make_windows(
        questions, Tokenizer.load(tokenizer_folder), max_length=LONGEST, doc_stride=128, max_question_tokens=64
    )


class Part:
    """Some of the windows, as features."""

    def __init__(self, windows, rows: np.ndarray) -> None:
        self.windows, self.rows, self.lengths_W = windows, rows, windows.lengths_W[rows]

    def __len__(self) -> int:
        return len(self.rows)

    def assemble(self, rows: np.ndarray):
        return self.windows.assemble(self.rows[rows])


class Ours:
    def __init__(self, model_folder: Path, windows, precision: str) -> None:
        from spanwise.tasks.checkpoint import load_task_model

        self.model = load_task_model(model_folder, "qa", precision=precision).model
        self.windows, self.precision = windows, precision

    def prepare(self, rows: np.ndarray) -> Part:
        return Part(self.windows, rows)

    def step(self, part: Part) -> list[np.ndarray]:
        return self.model.outputs(part, precision=self.precision)


class Peer:
    def __init__(self, model_folder: Path, windows) -> None:
        import torch
        from transformers import BertForQuestionAnswering

        self.torch, self.windows = torch, windows
        self.model = BertForQuestionAnswering.from_pretrained(model_folder, attn_implementation="sdpa").eval()

    def prepare(self, rows: np.ndarray):
        lengths = self.windows.lengths_W[rows]
        batch = self.windows.assemble(rows)
        real = np.arange(LONGEST) < lengths[:, None]
        tensors = {"attention_mask": self.torch.from_numpy(real.astype(np.int64))}
        for name in ("input_ids", "token_type_ids"):
            padded = np.zeros((len(rows), LONGEST), dtype=np.int64)
            padded[real] = getattr(batch, name).numpy()
            tensors[name] = self.torch.from_numpy(padded)
        return lengths, tensors

    def step(self, prepared) -> list[np.ndarray]:
        lengths, tensors = prepared
        with self.torch.inference_mode():
            said = self.model(**tensors)
        both = np.stack([said.start_logits.numpy(), said.end_logits.numpy()], axis=2)
        return [rows[:length] for rows, length in zip(both, lengths, strict=True)]


def sides_here() -> tuple[str, ...]:
    """All sides, without int8 where the machine has no products of bytes, and without a peer that is not installed."""
    import torch

    from spanwise.runtime.device import has_int8

    sides = SIDES
    if not has_int8(torch.device("cpu")):
        print("this machine has no products of bytes: without int8", file=sys.stderr)
        sides = tuple(side for side in sides if "int8" not in side)
    if not has_bf16():
        print("this machine has no products of bf16: without bf16", file=sys.stderr)
        sides = tuple(side for side in sides if "bf16" not in side)
    return sides if find_spec("transformers") else tuple(side for side in sides if side != "peer")


def batches_of(num_windows: int) -> np.ndarray:
    order = np.random.default_rng(1).permutation(num_windows)
    return order[: num_windows // BATCH * BATCH].reshape(-1, BATCH)


def work(side: str, folder: Path, data: Path, tokenizer: Path, clock: Callable[[], float]) -> None:
    """A side's own process: one batch for every line that comes in, its seconds out and its logits in a file."""
    windows = make_windows_of(data, tokenizer)
    made = folder / "model"
    model = Peer(made, windows) if side == "peer" else Ours(made, windows, PRECISIONS[side])
    batches = batches_of(len(windows))
    print(json.dumps({"num_windows": len(windows), "mean": float(windows.lengths_W.mean())}), flush=True)
    for index, _ in enumerate(sys.stdin):
        prepared = model.prepare(batches[index % len(batches)])
        begin = clock()
        logits = model.step(prepared)
        seconds = clock() - begin
        np.save(folder / f"{SIDES.index(side)}.npy", np.concatenate(logits).astype(np.float32))
        lengths = [len(rows) for rows in logits]
        print(json.dumps({"seconds": seconds, "lengths": lengths}), flush=True)


def run_sides(folder: Path, data: Path, tokenizer: Path, options: argparse.Namespace) -> tuple[dict, dict]:
    """One batch of each side in turn; the first round warms up."""
    variables = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(options.threads))
    arguments = ["--folder", str(folder), "--data", str(data), "--tokenizer", str(tokenizer), "--clock", options.clock]
    sides = sides_here()
    processes = {
        side: subprocess.Popen(
            [sys.executable, __file__, "--work", side, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | variables | {"HF_HUB_OFFLINE": "1"},
        )
        for side in sides
    }
    rates: dict[str, list[float]] = {side: [] for side in sides}
    agreement: dict[str, list[float]] = {side: [] for side in sides if side in GOALS}
    try:
        facts, *_ = (json.loads(process.stdout.readline()) for process in processes.values())
        for index in rounds_within(options.rounds, options.seconds, warm=1):
            for side, process in processes.items():
                process.stdin.write("\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                if index >= 0:
                    rates[side].append(sum(answer["lengths"]) / answer["seconds"])
            if index >= 0:
                print({side: round(found[-1]) for side, found in rates.items()}, file=sys.stderr, flush=True)
            logits = {side: np.load(folder / f"{SIDES.index(side)}.npy") for side in sides}
            for side in agreement if "peer" in logits else ():
                agreement[side].append(compare(side, logits[side], logits["peer"], answer["lengths"]))
    finally:
        for process in processes.values():
            process.stdin.close()
            process.wait()
    return rates, {**facts, "agreement": {side: float(np.mean(found)) for side, found in agreement.items() if found}}


def compare(side: str, ours: np.ndarray, peer: np.ndarray, lengths: list[int]) -> float:
    """The share of windows whose best start and end are the same; of fp32 all logits must agree."""
    if "fp32" in side and np.abs(ours - peer).max() > TOLERANCE:
        raise SystemExit(f"{side}: a logit differs from the peer's by {np.abs(ours - peer).max():.2g}")
    borders = np.cumsum(lengths)[:-1]
    pairs = zip(np.split(ours, borders), np.split(peer, borders), strict=True)
    return float(np.mean([(mine.argmax(axis=0) == theirs.argmax(axis=0)).all() for mine, theirs in pairs]))


def rows_of(rates: dict[str, list[float]], facts: dict) -> list[dict]:
    rows = []
    for side in [side for side in rates if side in GOALS]:
        goal = GOALS[side]
        row = {
            "name": f"QA prediction, {side}, against padding to {LONGEST} in fp32",
            "unit": "real tokens/s",
            "ours": float(np.median(rates[side])),
            "goal": goal,
            "mean_window": facts["mean"],
        }
        if "peer" not in rates:
            rows.append(row | {"peer": None, "ratio": None, "spread": None, "absent": "transformers"})
            continue
        ratios = np.array(rates[side]) / np.array(rates["peer"])
        rows.append(
            row
            | {
                "peer": float(np.median(rates["peer"])),
                "ratio": float(np.median(ratios)),
                "spread": np.percentile(ratios, [25, 75]).tolist(),
                "same_answers": facts["agreement"][side],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, help="no more rounds than fit into so many seconds, and one at least")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.folder, options.data, options.tokenizer, CLOCKS[options.clock])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, tokenizer = options.data, options.tokenizer
        if data is None:
            data, tokenizer = synthetic_questions(folder)
        elif tokenizer is None:
            tokenizer = folder / "learned"
            learn(data, tokenizer)
        make_model(folder / "model", tokenizer)
        rows = rows_of(*run_sides(folder, data, tokenizer, options))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        if row["peer"] is None:
            print(f"{row['name']}: {row['ours']:,.0f} {row['unit']}; transformers is not installed")
            continue
        goal = f", goal {row['goal']}" if row["goal"] else ""
        figures = f"{row['ours']:,.0f} against {row['peer']:,.0f} {row['unit']}"
        spread = f"{row['spread'][0]:.1f} to {row['spread'][1]:.1f}"
        same = f"{100 * row['same_answers']:.0f} % of answers the same"
        print(f"{row['name']}: {figures}, ratio {row['ratio']:.2f} ({spread}){goal}; {same}")


def learn(data: Path, out: Path) -> None:
    """A vocabulary of at most 30,000 pieces from the passages of a file."""
    from spanwise.tasks.qa.reader import read_questions
    from spanwise.text.corpus import Document
    from spanwise.text.learn import learn_tokenizer

    contexts = read_questions(data, purpose="predict").contexts
    documents = [Document(source=str(data), line=1, sentences=[text], ends=True) for text in contexts]
    learn_tokenizer(documents, vocab_size=VOCAB_SIZE).save(out)


if __name__ == "__main__":
    main()
