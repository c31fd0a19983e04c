"""Encoders that predict, six ways: ours in fp32, bf16 and int8, ONNX in fp32 and int8, and torch compiled.

    python benchmarks/onnx_files.py [--model DIR] [--rounds N] [--threads 2] [--json]

Without `--model` the size is MiniLM's (12 layers x 384, vocabulary 30,522, random weights). A step encodes 8 sequences
whose lengths are drawn (lognormal, mean about 90 tokens, at most 256), by the same draws on all sides. Ours read them
packed; the others padded to the longest of the 8. Compiled is the padded graph of the export under
`torch.compile(dynamic=True)`, fp32. Each side runs in its own process and they take turns, so a busy machine slows all;
speed is in real tokens a second, ratios are of "ONNX, fp32", as medians over the rounds with their middle half.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from interleaved import CLOCKS, rate_row, serve, show_rows, take_turns, timing_options

SIDES = ("ONNX, fp32", "ours, fp32", "ours, bf16", "ours, int8", "ONNX, int8", "torch compiled, fp32")
BATCH, LONGEST = 8, 256


def make_model(folder: Path) -> None:
    """A folder of MiniLM's shape with random weights."""
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.init import initialize

    shape = {"hidden_size": 384, "num_layers": 12, "num_heads": 12, "intermediate_size": 1536}
    encoder = Encoder(EncoderConfig(vocab_size=30_522, **shape))
    initialize(encoder, encoder.config, seed=0)
    write_folder(folder, FolderContent(encoder, {}))


def drawn(index: int, vocab_size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(index)
    lengths = np.clip(rng.lognormal(np.log(80), 0.5, BATCH), 8, LONGEST).astype(int)
    return [rng.integers(5, vocab_size, length) for length in lengths]


class Ours:
    def __init__(self, folder: Path, precision: str) -> None:
        import torch

        from spanwise.interop.checkpoint import build_encoder
        from spanwise.interop.huggingface import read_folder
        from spanwise.nn.int8.encoder import prepared_for
        from spanwise.nn.sequences import Sequences
        from spanwise.runtime.device import autocast, resolve_precision

        self.torch, self.Sequences = torch, Sequences
        self.encoder = prepared_for(precision, build_encoder(read_folder(folder)).eval())
        cpu = torch.device("cpu")
        self.autocast = partial(autocast, resolve_precision(precision, cpu), cpu)

    def prepare(self, index: int) -> Any:
        rows = drawn(index, self.encoder.config.vocab_size)
        ids = self.torch.from_numpy(np.concatenate(rows))
        return ids, self.torch.zeros_like(ids), self.Sequences.from_lengths([len(row) for row in rows])

    def step(self, index: int, prepared: Any) -> int:
        with self.torch.inference_mode(), self.autocast():
            return len(self.encoder(*prepared))


class Padded:
    """What reads padded rows: a file of onnxruntime, or the compiled graph."""

    def __init__(self, folder: Path, side: str, threads: int) -> None:
        import torch

        from spanwise.interop.checkpoint import build_encoder
        from spanwise.interop.huggingface import read_folder
        from spanwise.interop.onnx.export import write_model
        from spanwise.interop.onnx.heads import HiddenStates
        from spanwise.interop.onnx.text import TextGraph

        self.torch, self.session = torch, None
        encoder = build_encoder(read_folder(folder)).eval()
        self.vocab_size = encoder.config.vocab_size
        self.graph = TextGraph(encoder, HiddenStates(encoder.config.hidden_size)).eval()
        if side.startswith("torch"):
            self.compiled = torch.compile(self.graph, dynamic=True)
            return
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # it would take the others' turns
        with tempfile.TemporaryDirectory() as made:
            write_model(self.graph, Path(made) / "model.onnx", "int8" if "int8" in side else "fp32")
            self.session = onnxruntime.InferenceSession(
                Path(made) / "model.onnx", options, providers=["CPUExecutionProvider"]
            )

    def prepare(self, index: int) -> Any:
        rows = drawn(index, self.vocab_size)
        length = max(map(len, rows))
        ids = np.stack([np.pad(row, (0, length - len(row))) for row in rows])
        mask = np.stack([(np.arange(length) < len(row)).astype(np.int64) for row in rows])
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return sum(map(len, rows)), {port.name: known[port.name] for port in self.graph.inputs}

    def step(self, index: int, prepared: Any) -> int:
        amount, given = prepared
        if self.session is not None:
            self.session.run(None, given)
            return amount
        with self.torch.inference_mode():
            self.compiled(*(self.torch.from_numpy(values) for values in given.values()))
        return amount


def make(side: str, folder: Path, threads: int) -> Ours | Padded:
    precision = {"ours, fp32": "fp32", "ours, bf16": "bf16", "ours, int8": "int8"}.get(side)
    return Padded(folder, side, threads) if precision is None else Ours(folder, precision)


def main() -> None:
    parser = timing_options(__doc__ or "", rounds=15)
    parser.add_argument("--model", type=Path, help="a folder, in place of random weights")
    options = parser.parse_args()
    if options.work:
        serve(lambda: make(options.work, options.data, options.threads), CLOCKS[options.clock])
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.model or Path(made) / "model"
        if options.model is None:
            make_model(folder)
        shared = ["--data", str(folder), "--threads", str(options.threads), "--clock", options.clock]
        told = take_turns(
            lambda side: [__file__, "--work", side, *shared], SIDES, rounds=options.rounds, threads=options.threads
        )
    rows = [rate_row(side, "real tokens/s", told[side], told[SIDES[0]]) for side in SIDES if "absent" not in told[side]]
    show_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
