"""All figures of one GPU in one command, in parts that can be resumed: `scripts/gpu.sh run OUT`.

    python benchmarks/gpu.py --out OUT [--minutes 9] [--device cuda] [--tiny]

Each part is a process of its own and leaves OUT/PART.json; a part whose file is there is not run again, and one that
does not fit into the minutes is left for the next call. OUT/rows.json has all rows, in the form of the other
benchmarks. `--device cpu --tiny` tries the command itself where there is no GPU.

- facts: the card, torch, and the bf16 matrix product of 8192 x 8192 x 8192, the yardstick of all shares;
- agree: hidden states of a BERT-base pack, bf16 with the variable-length kernel, against float32 with every sequence on
  its own; weights of attention larger than at the start, so that a token that sees a wrong one shows, and how
  large the difference would be without attention stands beside it;
- base-512: a training step of BERT-base, MLM + SBO, sequences of 512 tokens, 32,768 tokens a pack;
- base-half: the same with lengths that are 256 on average;
- peer: `BertForMaskedLM`, bf16, SDPA, compiled, padded to 512, on the lengths of base-half;
- small, large: 12 x 384 and 24 x 1024;
- base-512-compiled, base-half-compiled, small-compiled: the same steps with layers and heads compiled, packs of one
  shape; how long compiling took, and how many graphs were compiled after the first step (none should be);
- small-graphs, pretrain-graphs: the same as small-compiled and pretrain with a pack and the update as CUDA graphs;
- answer, teach-questions, teach-coreference: tasks at base size, predicted beside transformers and learned, with all
  memory and with 24 GB (`gpu_answers.py`);
- waits: 20 steps of the training loop's update, while torch raises an error where the host would wait for the device;
- exact: two deterministic runs, and one that is killed by SIGKILL and resumed, compared bit for bit; two of ELECTRA,
  which draws its tokens; without the option two more runs, for what it changes;
- packs: the packs that a trial finds for this card and for 24 GB, their speed, and what recomputation costs;
- exact-cost: a step of BERT-base as in base-512, deterministic, against one without;
- pretrain: `spanwise pretrain spanbert-small` on the bundled corpus with a budget of 45 s: data share, speed, share of
  the peak, and a falling loss; pretrain-8x384: the same at 8 x 384 with 32,768 tokens a step; pretrain-selection: the
  same with spans that recur as questions, which share a sequence with masked words.

Each size of a step has a profile beside its rates: the 15 kernels that take most time, how many are launched, and how
much of the time the card computes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_answers
import gpu_packs
import numpy as np
from interleaved import show_rows
from training_step import FIRST_WORD, LONGEST, VOCAB_SIZE, Ours, Peer, Size

PARTS = {
    "facts": 30,
    "agree": 45,
    "waits": 40,
    "exact": 200,
    "packs": 120,
    "exact-cost": 60,
    "base-512": 50,
    "base-half": 50,
    "base-512-compiled": 120,
    "small-compiled": 110,
    "small-graphs": 120,
    "answer": 90,
    "teach-questions": 55,
    "teach-coreference": 35,
    "base-half-compiled": 105,
    "pretrain": 90,
    "pretrain-graphs": 100,
    "pretrain-8x384": 90,
    "pretrain-selection": 90,
    "peer": 100,
    "small": 40,
    "large": 60,
}
BASE, SMALL, LARGE = (
    Size(layers, width, width // 64, 64, (None, None, None, None))
    for layers, width in ((12, 768), (12, 384), (24, 1024))
)
TRIAL = Size(2, 128, 2, 4, (None, None, None, None))
PACKS_AHEAD, WARM, ROUNDS = 6, 6, 20
AMPLIFIED = 4.0  # weights of attention: enough to tell tokens apart, too little for rounding to grow with the layers
ALIKE, SHOWS = 5e-2, 0.5  # mean relative difference of hidden states: in bf16 at most, without attention at least


def make_paragraphs(mean: int, number: int) -> list[np.ndarray]:
    """Ids in sequences of the full length, or of lengths spread evenly around `mean`."""
    rng = np.random.default_rng(0)
    lengths = np.full(number, LONGEST) if mean >= LONGEST else rng.integers(2, 2 * mean - 4, number)
    ranks = np.exp(rng.random(lengths.sum()) * np.log(VOCAB_SIZE - FIRST_WORD)).astype(np.int64)
    return np.split(FIRST_WORD + ranks - 1, np.cumsum(lengths)[:-1])


def batches(paragraphs: list[np.ndarray], tokens: int) -> list[np.ndarray]:
    """Rows in order, as many a batch as `tokens` hold."""
    ends = np.cumsum([len(row) + 2 for row in paragraphs])
    cuts = np.searchsorted(ends, np.arange(tokens, ends[-1], tokens))
    return [rows for rows in np.split(np.arange(len(paragraphs)), cuts) if len(rows)][:PACKS_AHEAD]


def step_rates(side, rounds: int, synchronize) -> list[float]:
    """Real tokens a second of each step, on batches made beforehand."""
    prepared = [side.prepare(index) for index in range(PACKS_AHEAD)]
    rates = []
    for index in range(-WARM, rounds):
        synchronize()
        began = time.perf_counter()
        tokens = side.step(index + WARM, prepared[index % PACKS_AHEAD])
        synchronize()
        if index >= 0:
            rates.append(tokens / (time.perf_counter() - began))
    return rates


class Bench:
    """The parts, on one device."""

    def __init__(self, device: str, tiny: bool, out: Path) -> None:
        import torch

        self.torch, self.device, self.tiny, self.out = torch, device, tiny, out
        self.on_gpu = device.startswith("cuda")
        self.pack_tokens = 2_048 if tiny else 32_768
        self.rounds = 2 if tiny else ROUNDS

    def synchronize(self) -> None:
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def step(self, size: Size, mean: int, compiled: bool = False, graphs: bool = False) -> dict[str, Any]:
        """Our training step: rates, share of the measured peak, memory; compiled also what that took."""
        size = TRIAL if self.tiny else size
        paragraphs = make_paragraphs(mean, PACKS_AHEAD * self.pack_tokens // min(mean, LONGEST) + 64)
        rows = batches(paragraphs, self.pack_tokens)
        shape = self.pack_tokens + LONGEST + 2 if compiled else None  # batches pass their tokens by up to a sequence
        said: list[str] = []
        side = Ours(size, paragraphs, rows, device_name=self.device, shape=shape, graphs=self.graphs(said, graphs))
        with self.compiled(side) if compiled else contextlib.nullcontext({}) as facts_of_compiling:
            rates = step_rates(side, self.rounds, self.synchronize)
            profile = self.profile(side)
        facts = side.facts() | facts_of_compiling | profile | {"said_of_graphs": said}
        told = {"rates": rates, **facts, "share": float(np.median(rates)) * facts["flops_per_token"] / facts["peak"]}
        if self.on_gpu:
            told["memory"] = self.torch.cuda.max_memory_allocated() / 2**20
        return told

    def graphs(self, said: list[str], wanted: bool) -> Any:
        """What keeps the step as CUDA graphs, where that is wanted and there is a card."""
        from spanwise.training.compiled.graphs import Graphs

        return Graphs(said.append) if wanted and self.on_gpu else None

    @contextlib.contextmanager
    def compiled(self, side: Ours) -> Iterator[dict[str, Any]]:
        """Compile the model of `side` inside the block; afterwards the facts are complete."""
        from torch._dynamo.utils import counters

        from spanwise.training.compiled.regions import compiled_regions

        pack, said, began = side.prepare(0), [], time.perf_counter()
        rehearse = lambda: side.updater.rehearse(pack)  # noqa: E731
        with compiled_regions(side.updater.model, pack, rehearse, said.append) as works:
            side.updater.record([pack, *map(side.prepare, range(1, 4))])
            facts = {"compiled": works, "said": said, "compile_seconds": time.perf_counter() - began}
            graphs = counters["stats"]["unique_graphs"]
            yield facts
            facts |= {"graphs": graphs, "recompiled": counters["stats"]["unique_graphs"] - graphs}

    def profile(self, side: Ours) -> dict[str, Any]:
        """The kernels of three steps by their time, and the share of the time in which the card computes."""
        if not self.on_gpu:
            return {}
        from torch.profiler import ProfilerActivity

        packs = [side.prepare(index) for index in range(3)]
        self.synchronize()
        with self.torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as seen:
            began = time.perf_counter()
            for index, pack in enumerate(packs):
                side.step(100 + index, pack)
            self.synchronize()
            seconds = time.perf_counter() - began
        kernels = sorted(seen.key_averages(), key=lambda one: -one.self_device_time_total)
        total = sum(one.self_device_time_total for one in kernels) / 1e6
        top = [
            {"kernel": one.key[:120], "share": one.self_device_time_total / 1e6 / total, "calls": one.count / 3}
            for one in kernels[:15]
        ]
        launched = sum(one.count for one in kernels) / 3
        return {"profile": {"busy": total / seconds, "launched_per_step": launched, "kernels": top}}

    def facts(self) -> dict[str, Any]:
        from spanwise.training.timing import matmul_peak

        name = self.torch.cuda.get_device_name() if self.on_gpu else "cpu"
        threads = self.torch.get_num_threads()
        peaks = {kind: matmul_peak(self.device, kind, threads) / 1e12 for kind in ("bf16", "fp32")}
        return {"device": name, "torch": self.torch.__version__, "peak_tflops": peaks, "python": sys.version.split()[0]}

    def agree(self) -> dict[str, Any]:
        from spanwise.nn.sequences import Sequences
        from spanwise.runtime.device import autocast

        size = TRIAL if self.tiny else BASE
        paragraphs = make_paragraphs(200, 2 * self.pack_tokens // 200)
        side = Ours(size, paragraphs, batches(paragraphs, self.pack_tokens), device_name=self.device)
        encoder, batch = side.updater.model.eval().encoder, side.prepare(0).to(side.updater.device)
        lengths = batch.sequences.lengths[:16]
        ids, types = (tensor[: sum(lengths)].split(lengths) for tensor in (batch.input_ids, batch.token_type_ids))

        def packed(precision: str):
            with autocast(precision, side.updater.device):
                return encoder(batch.input_ids, batch.token_type_ids, batch.sequences).float()[: sum(lengths)]

        with self.torch.no_grad():
            for layer in encoder.layers:
                layer.attention.qkv.weight.mul_(AMPLIFIED)
                layer.attention.output.weight.mul_(AMPLIFIED)
            alone = [
                encoder(one, kind, Sequences.from_lengths([len(one)]).to(side.updater.device)).float()
                for one, kind in zip(ids, types, strict=True)
            ]
            wanted = self.torch.cat(alone)
            found = {precision: packed(precision) for precision in ("bf16", "fp32")}
            for layer in encoder.layers:
                layer.attention.output.weight.zero_()
            found["without attention"] = packed("fp32")
        mean = {
            name: float(((hidden - wanted).norm(dim=1) / wanted.norm(dim=1)).mean()) for name, hidden in found.items()
        }
        agrees = mean["bf16"] < ALIKE and mean["fp32"] < ALIKE and mean["without attention"] > SHOWS
        return {"relative_difference": mean, "agrees": agrees}

    def peer(self) -> dict[str, Any]:
        size = TRIAL if self.tiny else BASE
        paragraphs = make_paragraphs(LONGEST // 2, PACKS_AHEAD * size.batch)
        rows = np.array_split(np.arange(len(paragraphs)), PACKS_AHEAD)
        compiled = self.on_gpu
        side = Peer(size, paragraphs, rows, bf16=True, device_name=self.device, compiled=compiled, whole_length=True)
        return {"rates": step_rates(side, self.rounds, self.synchronize), "compiled": compiled}

    def waits(self) -> dict[str, Any]:
        """Begin 20 steps of each optimizer under torch's own check; read them afterwards."""
        from spanwise.training.optim import build_optimizer, guard
        from spanwise.training.plan import TrainingOptions

        size = TRIAL if self.tiny else SMALL
        paragraphs = make_paragraphs(200, PACKS_AHEAD * self.pack_tokens // 200)
        side = Ours(size, paragraphs, batches(paragraphs, self.pack_tokens), device_name=self.device)
        packs = [side.prepare(index) for index in range(PACKS_AHEAD)]
        packs = [pack.pinned() for pack in packs] if self.on_gpu else packs
        told = {}
        for optimizer in ("adamw", "muon", "lamb"):
            options = TrainingOptions(learning_rate=1e-4, max_steps=100, optimizer=optimizer)
            side.updater.optimizer = build_optimizer(side.updater.model, options)
            guard(side.updater.optimizer, side.updater._bad)
            side.updater.update(1, packs[:1], 1e-4)  # what is made once may wait
            if self.on_gpu:
                self.torch.cuda.set_sync_debug_mode("error")
            try:
                begun = [side.updater.begin(2 + step, [packs[step % len(packs)]], 1e-4) for step in range(20)]
                told[optimizer] = ""
            except RuntimeError as error:
                begun, told[optimizer] = [], str(error)[:500]
            finally:
                if self.on_gpu:
                    self.torch.cuda.set_sync_debug_mode("default")
            side.updater.read(begun)
        return {"waited": told}

    def exact(self) -> dict[str, Any]:
        """Run the command itself, whole, killed and resumed, and plain; compare the tensors of the last checkpoint."""
        import hashlib
        import signal

        store = self.store()
        changes = ["training.max_tokens=null", f"training.max_steps={12 if self.tiny else 40}", "training.save_every=4"]
        changes += ["batch.max_tokens=512", "batch.tokens_per_step=1024"] if self.tiny else []
        recipe = "spanbert-tiny" if self.tiny else "spanbert-small"

        def go(name: str, *more: str, recipe: str = recipe, killed: bool = False) -> dict[str, str]:
            out = self.out / "exact" / name
            words = ["pretrain", recipe, "--data", str(store), "--out", str(out), "--device", self.device, *more]
            words += [word for change in changes for word in ("--set", change)]
            command = [sys.executable, "-c", "from spanwise.cli.main import main; raise SystemExit(main())", *words]
            if out.exists():
                command.append("--resume")
            with subprocess.Popen(command) as process:
                while killed and process.poll() is None:
                    if list(out.glob("checkpoints/step-*/manifest.json")):
                        process.send_signal(signal.SIGKILL)
                    time.sleep(0.02)
                status = process.wait()
            if status and not killed:
                raise SystemExit(f"{name} ended with status {status}; what it said stands above.")
            files = sorted(out.glob("checkpoints/step-*/training/optimizer.safetensors"))
            return {file.parts[-3]: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

        one, two = go("one", "--deterministic"), go("two", "--deterministic")
        stopped_at = max(go("killed", "--deterministic", killed=True), default="never")
        killed = go("killed", "--deterministic")
        plain, again = go("plain"), go("plain-again")
        drawn = [go(name, "--deterministic", recipe="electra-mini") for name in ("replaced", "replaced-again")]
        last = max(one)
        return {
            "replaced_tokens": drawn[0][last] == drawn[1][last],
            "two_runs": one[last] == two[last],
            "killed": killed[last] == one[last] and stopped_at < last,
            "killed_after": stopped_at,
            "without_the_option": plain[last] == again[last],
        }

    def exact_cost(self) -> dict[str, Any]:
        """The same step twice: as it is, and deterministic."""
        from spanwise.runtime.device import deterministic

        told = {"plain": self.step(BASE, LONGEST)["rates"]}
        with deterministic(True):
            return told | {"rates": self.step(BASE, LONGEST)["rates"]}

    def packs(self) -> dict[str, Any]:
        return gpu_packs.measure(self.store(), self.device, self.out / "packs", tiny=self.tiny)

    def store(self) -> Path:
        """Prepare the bundled text once."""
        from spanwise.data.prepare import prepare
        from spanwise.quickstart.bundle import open_bundle
        from spanwise.text.learn import learn_tokenizer

        folder = self.out / "pretrain"
        with open_bundle() as bundle:
            if not (folder / "store").exists():
                tokenizer = learn_tokenizer(
                    bundle.train_text, vocab_size=8_000, out=folder / "tokenizer", roles=("question",)
                )
                prepare(bundle.train_text, tokenizer, folder / "store")
        return folder / "store"

    def answer(self) -> dict[str, Any]:
        return gpu_answers.answer(self.out / "answer", self.device, tiny=self.tiny)

    def teach_questions(self) -> dict[str, Any]:
        return gpu_answers.teach_questions(self.out / "teach", self.device, tiny=self.tiny)

    def teach_coreference(self) -> dict[str, Any]:
        return gpu_answers.teach_coreference(self.out / "teach-coreference", self.device, tiny=self.tiny)

    def pretrain(self) -> dict[str, Any]:
        """A run of `spanbert-small` as it comes."""
        return self.trained("run", [])

    def pretrain_graphs(self) -> dict[str, Any]:
        """The same run with CUDA graphs."""
        return self.trained("run-graphs", ["training.compile=graphs"])

    def pretrain_8x384(self, recipe: str = "spanbert-small") -> dict[str, Any]:
        """A run at 8 x 384, in steps of 32,768 tokens."""
        shape = {"num_layers": 8, "hidden_size": 384, "num_heads": 6, "intermediate_size": 1_536}
        tokens = 2_048 if self.tiny else 32_768
        changes = [] if self.tiny else [f"encoder.{name}={size}" for name, size in shape.items()]
        changes += [f"batch.tokens_per_step={tokens}", f"batch.max_tokens={tokens}"]
        return self.trained(f"{recipe}-8x384", changes, recipe)

    def pretrain_selection(self) -> dict[str, Any]:
        """The same run with questions beside masked words."""
        return self.pretrain_8x384("spanbert-selection-mini")

    def trained(self, name: str, changes: list[str], recipe: str = "spanbert-small") -> dict[str, Any]:
        from spanwise.cli.main import main
        from spanwise.runtime.progress import read_metrics

        store = self.store()
        out = store.parent / name
        budget = "20s" if self.tiny else "45s"
        if self.tiny and recipe == "spanbert-small":
            recipe = "spanbert-tiny"
        tiny = ["batch.max_tokens=1024", "batch.tokens_per_step=1024"] if self.tiny and not changes else []
        changes = ["training.max_tokens=null", f"training.log_every={5 if self.tiny else 50}", *tiny, *changes]
        command = ["pretrain", recipe, "--data", str(store), "--out", str(out), "--budget", budget]
        command += [word for change in changes for word in ("--set", change)]
        command += ["--device", self.device, *(["--resume"] if out.exists() else [])]
        if main(command):
            raise SystemExit("pretrain has failed; what it said stands above.")
        lines = [line for line in read_metrics(out / "metrics.jsonl") if "time" in line]
        times: dict[str, float] = {}
        for line in lines[1:] or lines:
            for part, seconds in line["time"].items():
                times[part] = times.get(part, 0.0) + seconds
        return {
            "first_losses": lines[0]["losses"],
            "last_losses": lines[-1]["losses"],
            "tokens_per_second": float(np.median([line["tokens_per_second"] for line in lines])),
            "flop_utilisation": float(np.median([line["flop_utilisation"] for line in lines])),
            "data_share": times["data"] / (times["total"] - times["evaluation"] - times["checkpoint"]),
            "times": times,
            "seconds": lines[-1]["seconds"],
            "steps": lines[-1]["step"],
        }

    def run(self, part: str) -> dict[str, Any]:
        steps = {"base-512": (BASE, LONGEST), "base-half": (BASE, LONGEST // 2)}
        steps |= {"small": (SMALL, LONGEST), "large": (LARGE, LONGEST)}
        if part.endswith("-compiled"):
            return self.step(*steps[part.removesuffix("-compiled")], compiled=True)
        if part == "small-graphs":
            return self.step(*steps["small"], compiled=True, graphs=True)
        return self.step(*steps[part]) if part in steps else getattr(self, part.replace("-", "_"))()


def rows_of(parts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the parts that are there, with the goals of one H200."""
    rows: list[dict[str, Any]] = []

    def add(
        name: str, unit: str, ours: float, peer: float | None, goal: float | None, lower: bool = False, part: str = ""
    ) -> None:
        ratio = None if peer is None else ours / peer
        rates = parts.get(part, {}).get("rates")
        spread = None
        if rates and ratio is not None:  # of our steps: the parts run one after the other
            spread = [ratio * float(np.percentile(rates, q)) / medians[part] for q in (25, 75)]
        row = {"name": name, "unit": unit, "ours": ours, "peer": peer, "ratio": ratio, "goal": goal, "spread": spread}
        rows.append(row | ({"lower_is_better": True} if lower else {}))

    medians = {part: float(np.median(told["rates"])) for part, told in parts.items() if "rates" in told}
    for part, goal in (("base-512", 0.4), ("base-half", None), ("small", None), ("large", None)):
        if part in parts:
            told = parts[part]
            speed = medians[part] * told["flops_per_token"] / 1e12
            add(f"{part}, share of the bf16 matrix product", "TFLOP/s", speed, told["peak"] / 1e12, goal, part=part)
    for part, goal in (("base-512", 0.4), ("base-half", None), ("small", 0.3)):
        if (compiled := f"{part}-compiled") in parts:
            told = parts[compiled]
            speed = medians[compiled] * told["flops_per_token"] / 1e12
            add(f"{compiled}, share of the same", "TFLOP/s", speed, told["peak"] / 1e12, goal, part=compiled)
            add(f"{compiled}, compiling from an empty cache", "s", told["compile_seconds"], None, 60.0, True)
            add(f"{compiled}, compiled again while training", "graphs", told["recompiled"], None, 0.0, True)
    if "small-graphs" in parts:
        told = parts["small-graphs"]
        speed = medians["small-graphs"] * told["flops_per_token"] / 1e12
        add("small-graphs, share of the same", "TFLOP/s", speed, told["peak"] / 1e12, 0.3, part="small-graphs")
    if "base-512" in parts:
        add(
            "base-512 against 600,000 real tokens a second",
            "real tokens/s",
            medians["base-512"],
            600_000.0,
            1.0,
            part="base-512",
        )
    for part in ("small", "large"):
        if {part, "base-512"} <= set(parts):
            ours, base = parts[part]["share"], parts["base-512"]["share"]
            add(f"{part}, points of the peak away from base-512", "points", 100 * abs(ours - base), None, 10.0, True)
    if {"base-half", "peer"} <= set(parts):
        ours, peer = medians["base-half"], medians["peer"]
        add("base-half against compiled BertForMaskedLM, padded", "real tokens/s", ours, peer, 1.8, part="base-half")
    if {"base-half", "base-512"} <= set(parts):
        ours, peer = medians["base-half"], medians["base-512"]
        add("half the mean length against the full one", "real tokens/s", ours, peer, 0.95, part="base-half")
    for part, goal in (
        ("pretrain", 0.15),
        ("pretrain-graphs", 0.15),
        ("pretrain-8x384", 0.25),
        ("pretrain-selection", 0.25),
    ):
        if part in parts:
            add(f"{part}, share of the bf16 matrix product", "", parts[part]["flop_utilisation"], None, goal)
            add(f"{part}, share of time that waits for data", "", parts[part]["data_share"], None, 0.02, True)
    if "answer" in parts:
        sides = {name: float(np.median(rates)) for name, rates in parts["answer"]["sides"].items()}
        best = f"questions answered, against transformers at its best ({parts['answer']['best_batch']} a batch)"
        add(best, "real tokens/s", sides["ours"], sides["best"], 1.3, part="answer")
        add("the same, padded to 384", "real tokens/s", sides["ours"], sides["padded"], 5.0, part="answer")
    for name, told in parts.get("teach-questions", {}).items():
        add(f"questions learned, memory: {name}, share of the matrix product", "", told["flop_utilisation"], None, 0.3)
    if "teach-coreference" in parts:
        share = parts["teach-coreference"]["flop_utilisation"]
        add("coreference learned, share of the matrix product", "", share, None, 0.3)
    if "waits" in parts:
        waited = sum(bool(error) for error in parts["waits"]["waited"].values())
        add("optimizers of three whose steps wait for the device", "", waited, None, 0.0, True)
    if "exact" in parts:
        found = parts["exact"]
        add("deterministic: two runs equal bit for bit", "1 is yes", float(found["two_runs"]), None, 1.0)
        add("deterministic: killed and resumed equal to whole", "1 is yes", float(found["killed"]), None, 1.0)
        add("the same of replaced tokens (ELECTRA)", "1 is yes", float(found["replaced_tokens"]), None, 1.0)
        add("two runs equal without the option", "1 is yes", float(found["without_the_option"]), None, None)
    if "packs" in parts:
        told = parts["packs"]
        own, found, again = (float(np.median(told[name]["rates"])) for name in ("own", "found", "again"))
        add(f"a step in {told['found']['packs']} pack(s), as found, against {told['own']['packs']}", "real tokens/s",
            found, own, 1.0)  # fmt: skip
        add("the same with activations computed again", "real tokens/s", again, found, 0.7)
        add("trial for the number of packs", "s", told["all"]["trial_seconds"], None, 20.0, True)
        add("24 GB: packs of a step, and without recomputation 1", f"{told['24 GB']['packs']} packs",
            float(not told["24 GB"]["recomputes"]), None, 1.0)  # fmt: skip
        add("gradients of both packings apart", "", told["found"]["gradients_apart"], None, 1e-2, True)
        add("computed again: equal bits", "1 is yes", float(told["again"]["equal_bits"]), None, None)
    if "exact-cost" in parts:
        ours, plain = medians["exact-cost"], float(np.median(parts["exact-cost"]["plain"]))
        add("base-512, deterministic against plain", "real tokens/s", ours, plain, 0.9, part="exact-cost")
    if "agree" in parts:
        difference = parts["agree"]["relative_difference"]
        add("hidden states in bf16, packed, against fp32 alone", "", difference["bf16"], None, ALIKE, True)
        add(
            "the same without attention: what the line above would show",
            "",
            difference["without attention"],
            None,
            SHOWS,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="these parts, in their order")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if site := os.environ.get("SPANWISE_SITE"):
        sys.path.append(site)  # carried packages only fill gaps, here and in each part's process
    if options.part:
        told = Bench(options.device, options.tiny, options.out).run(options.part)
        (options.out / f"{options.part}.json").write_text(json.dumps(told, indent=1))
        return
    until = time.monotonic() + 60 * options.minutes
    missing = []
    for part in options.parts:
        seconds = PARTS[part]
        if (options.out / f"{part}.json").exists():
            continue
        left = until - time.monotonic()
        if left < seconds / 2:
            missing.append(part)
            continue
        own = [sys.executable, __file__, "--out", str(options.out), "--device", options.device, "--part", part]
        began = time.monotonic()
        try:
            subprocess.run([*own, *(["--tiny"] if options.tiny else [])], check=True, timeout=left)
            print(f"{part}: {time.monotonic() - began:.0f} s", flush=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            missing.append(part)
            print(f"{part}: {error}", flush=True)
    found = {part: options.out / f"{part}.json" for part in PARTS}
    parts = {part: json.loads(path.read_text()) for part, path in found.items() if path.exists()}
    rows = rows_of(parts)
    (options.out / "rows.json").write_text(json.dumps(rows, indent=1))
    print(json.dumps(parts.get("facts", {})))
    show_rows(rows, as_json=False)
    if missing:
        raise SystemExit(f"not done: {', '.join(missing)}. The same command goes on with them.")


if __name__ == "__main__":
    main()
