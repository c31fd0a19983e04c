"""Questions and coreference at BERT-base's size, parts of `benchmarks/gpu.py`: learned and answered on one GPU.

- answer: 4,096 windows of questions, lengths as SQuAD's, from windows to logits on the host: ours (bf16, packed);
  `BertForQuestionAnswering` in bf16 with SDPA, padded to 384, 64 a batch; and the same class at its best: sorted by
  length, padded to the longest of the batch, compiled, the fastest of three batch sizes.
- teach: `spanwise finetune` on questions, with all memory and with 24 GB, and on coreference: real tokens a second and
  the share of the measured matrix product, as the run's own log says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from qa_prediction import LONGEST, Part, make_model, make_windows_of, synthetic_questions

WINDOWS, PADDED_BATCH, BATCHES, ROUNDS = 4_096, 64, (64, 256, 512), 5
TINY = {"num_layers": 2, "hidden_size": 64, "num_heads": 2, "intermediate_size": 128}
CARD = 24 * 2**30
STEPS = 60


class Best:
    """The class of transformers in bf16: windows in the order given, each batch padded to `longest` or its own."""

    def __init__(self, folder: Path, device: str, *, compiled: bool) -> None:
        import torch
        from transformers import BertForQuestionAnswering

        self.torch, self.device = torch, device
        model = BertForQuestionAnswering.from_pretrained(folder, attn_implementation="sdpa", dtype=torch.bfloat16)
        self.model = model.to(device).eval()
        self.run = torch.compile(self.model, dynamic=True) if compiled else self.model

    def answer(self, windows: Any, rows: np.ndarray, batch: int, longest: int | None = None) -> None:
        """Compute the logits of all windows; `longest`: what each is padded to, None: the longest of its batch."""
        torch, found = self.torch, []
        with torch.inference_mode():
            for some in np.array_split(rows, max(1, len(rows) // batch)):
                lengths = windows.lengths_W[some]
                width = longest or -(-int(lengths.max()) // 32) * 32
                real = np.arange(width) < lengths[:, None]
                flat = windows.assemble(some)
                given = {"attention_mask": torch.from_numpy(real.astype(np.int64))}
                for name in ("input_ids", "token_type_ids"):
                    padded = np.zeros(real.shape, dtype=np.int64)
                    padded[real] = getattr(flat, name).numpy()
                    given[name] = torch.from_numpy(padded)
                said = self.run(**{name: tensor.to(self.device) for name, tensor in given.items()})
                found.append(torch.stack([said.start_logits, said.end_logits], -1).float().cpu())


def answer(folder: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    """Return real tokens a second of all three, by rounds in turn, and the batch that was best."""
    from spanwise.tasks.checkpoint import load_task_model

    data, words = _questions(folder)
    make_model(folder / "model", words, TINY if tiny else None)
    windows = make_windows_of(data, words)
    rows = np.resize(np.random.default_rng(1).permutation(len(windows)), 64 if tiny else WINDOWS)
    by_length = rows[np.argsort(windows.lengths_W[rows], kind="stable")][::-1]
    model = load_task_model(folder / "model", "qa", device=device).model
    plain, best = (Best(folder / "model", device, compiled=compiled) for compiled in (False, device != "cpu"))
    sizes = {size: _seconds(lambda size=size: best.answer(windows, by_length, size), 2) for size in BATCHES}
    size = min(sizes, key=lambda one: sizes[one][-1])
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: model.outputs(Part(windows, rows), precision="auto"),
        "padded": lambda: plain.answer(windows, rows, PADDED_BATCH, LONGEST),
        "best": lambda: best.answer(windows, by_length, size),
    }
    num_tokens = int(windows.lengths_W[rows].sum())
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(-1, 2 if tiny else ROUNDS):
        for name, side in sides.items():
            (seconds,) = _seconds(side, 1)
            if number >= 0:
                rates[name].append(num_tokens / seconds)
    return {"sides": rates, "rates": rates["ours"], "best_batch": size}


def teach_questions(folder: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    """Return what the log of a run says, with all memory of the card and with 24 GB of it."""
    import torch

    data, words = _questions(folder)
    make_model(folder / "model", words, TINY if tiny else None)
    told = {"all": _taught("qa", folder / "model", data, folder / "all", device, tiny=tiny)}
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(min(1.0, CARD / torch.cuda.mem_get_info()[1]))
    return told | {"24 GB": _taught("qa", folder / "model", data, folder / "capped", device, tiny=tiny)}


def teach_coreference(folder: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    """The same of coreference, with all memory."""
    _, words = _questions(folder)
    make_model(folder / "model", words, TINY if tiny else None)
    rng, lines = np.random.default_rng(0), []
    for number in range(8 if tiny else 400):
        lines.append(f"#begin document (d{number}); part 000")
        for _ in range(6 if tiny else 24):  # sentences of 16 words, each naming one of four
            spoken = [f"w{word} -" for word in rng.integers(4, 500, 15)]
            who = int(rng.integers(4))
            lines += [f"w{who} ({who})", *spoken, ""]
        lines.append("#end document")
    data = folder / "stories.conll"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _taught("coref", folder / "model", data, folder / "coreference", device, tiny=tiny)


def _questions(folder: Path) -> tuple[Path, Path]:
    """The synthetic questions, each with the first words of its passage as the answer, and their vocabulary."""
    path, words = folder / "questions.json", folder / "words"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        synthetic_questions(folder)
        record = json.loads(path.read_text(encoding="utf-8"))
        for paragraph in record["data"][0]["paragraphs"]:
            text = " ".join(paragraph["context"].split(" ", 2)[:2])
            paragraph["qas"][0]["answers"] = [{"text": text, "answer_start": 0}]
        path.write_text(json.dumps(record), encoding="utf-8")
    return path, words


def _taught(task: str, model: Path, data: Path, out: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    from spanwise.runtime.progress import read_metrics
    from spanwise.tasks.run import finetune

    steps = 4 if tiny else STEPS
    changes = ["training.num_epochs=null", f"training.max_steps={steps}", f"training.log_every={max(1, steps // 6)}"]
    finetune(task, model=model, train=data, out=out, overrides=[*changes, "training.eval_every=null"], device=device)
    lines = [line for line in read_metrics(out / "metrics.jsonl") if "time" in line]
    later = lines[1:] or lines
    return {
        "tokens_per_second": float(np.median([line["tokens_per_second"] for line in later])),
        "flop_utilisation": float(np.median([line["flop_utilisation"] for line in later])),
    }


def _seconds(call: Callable[[], object], times: int) -> list[float]:
    """The seconds of each call; every one ends with its numbers on the host."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return found
