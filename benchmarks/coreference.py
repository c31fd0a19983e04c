"""Coreference: prediction of many documents against one at a time, and the memory of a long document.

    python benchmarks/coreference.py [--sizes 4x256 12x768] [--documents 8] [--data FILE.conll --tokenizer DIR]
                                     [--depth 1] [--json] [--rounds N] [--threads 2] [--clock cpu]
    python benchmarks/coreference.py --memory [--words 2000 20000] [--depth 1] [--json]

Documents as long as OntoNotes' (lognormal, median 350 words, at most 1,500; sentences of 18 words on average; every
fifth word of two pieces), or the first of a file. Segments of 384 tokens, hidden layers of 3,000 as in the paper,
random weights, the same on all sides. Speed is in word pieces a second; both sides' links in float32 must be the same.

- ours: `TaskModel.outputs` as `spanwise predict` calls it: segments of all documents packed, bf16 where the processor
  has it; and the same in float32;
- peer: the same model one document at a time, segments padded to 384, computed as the released code does: the encoder
  is `BertModel` of transformers (SDPA), every candidate has a vector, every pair one of both spans, their product and
  features, scored by plain layers. In float32, and under bf16 autocast. One turn each, as they are slow.

`--memory` links one random document at BERT-base's width in a process of its own for each length (two layers: without
gradients the memory of a pass does not depend on how many there are) and gives the peak above what stood before.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from interleaved import CLOCKS, THREAD_VARIABLES, has_bf16, rate_row, serve, show_rows, take_turns, timing_options

SEGMENT = 384
OURS, OURS_FP32, PEER, PEER_BF16 = "ours", "ours fp32", "peer fp32", "peer bf16"
MIB = 1 << 20


def random_documents(number: int) -> list[Any]:
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(np.log(350), 0.7, number), 40, 1500).astype(int)
    return [_document(f"d{k}", rng, int(size)) for k, size in enumerate(sizes)]


def _document(name: str, rng: np.random.Generator, num_words: int) -> Any:
    from spanwise.tasks.coref.documents import CoreferenceDocument

    words = [f"w{k}" + ("x" if two else "") for k, two in zip(
        rng.integers(0, 500, num_words), rng.random(num_words) < 0.2, strict=True
    )]  # fmt: skip
    ends = np.cumsum(np.clip(rng.lognormal(np.log(16), 0.5, num_words), 3, 60).astype(int))
    borders = (0, *ends[ends < num_words].tolist(), num_words)
    return CoreferenceDocument(
        name=name, words=tuple(words), sentence_borders=borders, speakers=("",) * num_words, clusters=()
    )


def word_tokenizer() -> Any:
    from spanwise.text.tokenizers import Tokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[f"w{number}" for number in range(500)], "##x"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("\n".join(pieces) + "\n")
        return Tokenizer.load(folder)


def build(size: str, tokenizer: Any, *, depth: int, ffn_size: int) -> Any:
    """A model of random weights, large enough that scores differ."""
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.init import initialize
    from spanwise.tasks.coref.task import Coreference
    from spanwise.tasks.model import TaskModel

    num_layers, hidden_size = map(int, size.split("x"))
    config = EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        num_heads=max(1, hidden_size // 64),
        intermediate_size=4 * hidden_size,
        max_positions=512,
        initializer_range=0.05,
    )
    encoder, task = Encoder(config), Coreference(max_segment_length=SEGMENT, depth=depth, ffn_size=ffn_size)
    head = task.build_head(config)
    initialize(encoder, config, seed=0, prefix="encoder")
    initialize(head, config, seed=0, prefix="coref")
    return TaskModel(task, encoder, head).eval()


class Ours:
    def __init__(self, options: argparse.Namespace, precision: str) -> None:
        self.model, self.features, self.num_pieces = _given(options)
        self.precision = precision

    def prepare(self, index: int) -> None: ...

    def links(self) -> list[Any]:
        return self.model.outputs(self.features, precision=self.precision)

    def step(self, index: int, prepared: None) -> int:
        self.found = [links.antecedent_k for links in self.links()]
        return self.num_pieces

    def facts(self) -> dict[str, Any]:
        return {"antecedents": [int(a) for antecedent_k in self.found for a in antecedent_k]}


class Peer(Ours):
    """One document at a time, as the released code computes it."""

    def __init__(self, options: argparse.Namespace, precision: str) -> None:
        super().__init__(options, precision)
        import torch
        from transformers import BertModel

        from spanwise.interop.folder_plan import FolderContent
        from spanwise.interop.huggingface import write_folder

        self.torch = torch
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder, "model"), FolderContent(self.model.encoder, {}, _tokenizer(options)))
            self.bert = BertModel.from_pretrained(Path(folder, "model"), add_pooling_layer=False).eval()
        self.head = self.model.head

    def links(self) -> list[Any]:
        torch = self.torch
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            return [self._document(row) for row in range(len(self.features))]

    def _document(self, row: int) -> Any:
        from spanwise.nn.coreference.antecedents import Antecedents
        from spanwise.nn.coreference.head import Linked
        from spanwise.nn.coreference.pruning import keep_spans
        from spanwise.tasks.coref.decode import best_links

        torch, spans, task = self.torch, self.head.spans, self.model.task
        segments = self.features.segment_ids(row)
        ids = torch.zeros(len(segments), SEGMENT, dtype=torch.int64)
        for place, segment in enumerate(segments):
            ids[place, : len(segment)] = torch.from_numpy(segment.astype(np.int64))
        lengths = torch.tensor([len(segment) for segment in segments])[:, None]
        place_L = torch.arange(SEGMENT)
        states = self.bert(ids, attention_mask=(place_L < lengths).long()).last_hidden_state
        hidden_TD = states[(place_L > 0) & (place_L < lengths - 1)].float()  # without [CLS] and [SEP]
        document = self.features.tensors(row)
        start_N, end_N = torch.from_numpy(document.start_N), torch.from_numpy(document.end_N)
        vectors_NG = self._vectors(hidden_TD, start_N, end_N)
        width_N = end_N - start_N - 1
        mention_N = _ffnn(spans.mention, vectors_NG) + _ffnn(spans.prior, spans.prior_width(width_N))
        scores_N = mention_N.float().numpy()
        kept = torch.from_numpy(
            keep_spans(document.start_N, document.end_N, scores_N, document.num_spans, len(hidden_TD))
        )
        start_k, end_k, vectors_kG, mention_k = start_N[kept], end_N[kept], vectors_NG[kept], mention_N[kept].float()
        index_kc, valid_kc, coarse_kc = self._coarse(vectors_kG, mention_k, task.num_antecedents)
        for turn in range(task.depth):
            fine_kc = self._fine(vectors_kG, index_kc, document.speaker_T[start_k], document.segment_T[start_k])
            scores_kc = (coarse_kc + fine_kc).masked_fill(~valid_kc, -torch.inf)
            if turn + 1 < task.depth:
                scorer = self.head.antecedents
                chance = torch.softmax(torch.cat([torch.zeros(len(scores_kc), 1), scores_kc], dim=1), dim=1)
                candidates = torch.cat([vectors_kG[:, None], vectors_kG[index_kc]], dim=1)
                mean = (chance[:, :, None] * candidates).sum(1)
                gate = torch.sigmoid(scorer.gate(torch.cat([vectors_kG, mean], dim=1)))
                vectors_kG = gate * mean + (1 - gate) * vectors_kG
        linked = Linked(start_k, end_k, mention_k, Antecedents(index_kc, valid_kc, scores_kc))
        return best_links(linked, len(segments))

    def _vectors(self, hidden_TD: Any, start_N: Any, end_N: Any) -> Any:
        torch, spans = self.torch, self.head.spans
        place_T = torch.arange(len(hidden_TD))
        inside = (place_T >= start_N[:, None]) & (place_T < end_N[:, None])
        logits = spans.attention(hidden_TD).squeeze(-1).float().expand(len(start_N), -1)
        weights = torch.softmax(logits.masked_fill(~inside, -torch.inf), dim=1)
        parts = [hidden_TD[start_N], hidden_TD[end_N - 1], spans.width(end_N - start_N - 1), weights @ hidden_TD]
        return torch.cat(parts, dim=1)

    def _coarse(self, vectors_kG: Any, mention_k: Any, num_antecedents: int) -> tuple[Any, Any, Any]:
        from spanwise.nn.coreference.antecedents import distance_bucket

        torch, scorer = self.torch, self.head.antecedents
        place_k = torch.arange(len(mention_k))
        apart = place_k[:, None] - place_k
        by_distance = scorer.coarse_distance_out(scorer.coarse_distance.weight).squeeze(-1)
        scores = (scorer.source(vectors_kG) @ vectors_kG.T).float() + mention_k[:, None] + mention_k
        scores = scores + by_distance[distance_bucket(apart.clamp(min=0))]
        scores = scores.masked_fill(apart <= 0, -torch.inf)
        best, index = scores.topk(min(num_antecedents, len(mention_k)), dim=1)
        order = torch.where(best > -torch.inf, index, len(mention_k)).argsort(dim=1)
        return index.gather(1, order), (best > -torch.inf).gather(1, order), best.gather(1, order)

    def _fine(self, vectors_kG: Any, index_kc: Any, speaker_k: Any, segment_k: Any) -> Any:
        from spanwise.nn.coreference.antecedents import distance_bucket

        torch, scorer = self.torch, self.head.antecedents
        place_k = torch.arange(len(vectors_kG))
        segments = (segment_k[:, None] - segment_k[index_kc]).clamp(0, scorer.segments_apart.num_embeddings - 1)
        features = torch.cat(
            [
                scorer.same_speaker((speaker_k[:, None] == speaker_k[index_kc]).long()),
                scorer.genre(torch.zeros_like(index_kc)),
                scorer.distance(distance_bucket((place_k[:, None] - index_kc).clamp(min=0))),
                scorer.segments_apart(segments),
            ],
            dim=-1,
        )
        own, other = vectors_kG[:, None].expand(-1, index_kc.shape[1], -1), vectors_kG[index_kc]
        return _ffnn(scorer.pair, torch.cat([own, other, own * other, features], dim=-1)).float()


def _ffnn(layers: Any, rows: Any) -> Any:
    return layers.out(layers.hidden(rows).relu()).squeeze(-1)


def _tokenizer(options: argparse.Namespace) -> Any:
    if options.tokenizer is None:
        return word_tokenizer()
    from spanwise.text.tokenizers import Tokenizer

    return Tokenizer.load(options.tokenizer)


def _given(options: argparse.Namespace) -> tuple[Any, Any, int]:
    """The model, the documents cut for it, and how many pieces they have."""
    from spanwise.tasks.coref.documents import CoreferenceData
    from spanwise.tasks.coref.reader import read_coreference

    if options.data is None:
        data = CoreferenceData(source="random", documents=tuple(random_documents(options.documents)))
    else:
        whole = read_coreference(options.data, purpose="predict")
        data = CoreferenceData(source=whole.source, documents=whole.documents[: options.documents])
    tokenizer = _tokenizer(options)
    model = build(options.sizes[0], tokenizer, depth=options.depth, ffn_size=options.ffn)
    features = model.task.featurize(data, tokenizer, model.encoder.config, training=False)
    return model, features, sum(map(len, features.documents))


def make(options: argparse.Namespace) -> Ours:
    import torch

    torch.set_num_threads(int(os.environ[THREAD_VARIABLES[0]]))
    if options.work in (OURS, OURS_FP32):
        return Ours(options, "auto" if options.work == OURS else "fp32")
    return Peer(options, "bf16" if options.work == PEER_BF16 else "fp32")


def speed_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    bf16 = has_bf16()
    sides = (OURS, OURS_FP32, PEER, PEER_BF16) if bf16 else (OURS_FP32, PEER)
    rows = []
    for size in options.sizes:
        asked = ["--sizes", size, "--documents", str(options.documents), *_of_model(options)]
        asked += ["--data", str(options.data)] if options.data else []
        asked += ["--tokenizer", str(options.tokenizer)] if options.tokenizer else []
        told = take_turns(
            lambda side, asked=asked: [__file__, "--work", side, "--clock", options.clock, *asked],
            sides,
            rounds=options.rounds,
            seconds=options.seconds,
            threads=options.threads,
            slow={side: options.peer_rounds for side in (PEER, PEER_BF16)},
        )
        pairs = [(OURS_FP32, PEER, "both fp32", None if bf16 else 3.0)]
        if bf16:
            pairs = [(OURS, PEER, "against fp32", 3.0), *pairs, (OURS, PEER_BF16, "both bf16", None)]
        rows += [
            rate_row(f"coreference prediction {size}, {words}", "pieces/s", told[ours], told[peer], goal)
            for ours, peer, words, goal in pairs
        ]
        if not same_links(told[OURS_FP32], told[PEER]):
            raise SystemExit(f"{size}: our links and the peer's are not the same; the figures compare nothing.")
    return rows


def _of_model(options: argparse.Namespace) -> list[str]:
    return ["--depth", str(options.depth), "--ffn", str(options.ffn)]


def same_links(ours: dict[str, Any], peer: dict[str, Any]) -> bool:
    """Whether both sides kept as many spans and nearly all go back to the same antecedent; so is a peer that lacks."""
    mine, theirs = (side["facts"].get("antecedents", []) for side in (ours, peer))
    return "absent" in peer or (len(mine) == len(theirs) and float(np.mean(np.equal(mine, theirs))) > 0.99)


def memory_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Peak memory above the model of the longest document against that of the shortest."""
    few, many, size = min(options.words), max(options.words), options.sizes[0]
    peaks = []
    for num_words in (few, many):
        asked = ["--words", str(num_words), "--sizes", size, *_of_model(options)]
        done = subprocess.run(
            [sys.executable, __file__, "--work", "memory", *asked],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, "1"),
        )
        peaks.append(float(done.stdout))
    return [
        {
            "name": f"coreference of {many:,} words against {few:,}, {size}, depth {options.depth}",
            "unit": "MiB above the model",
            "ours": peaks[1],
            "peer": peaks[0],
            "ratio": peaks[1] / peaks[0],
            "goal": 2.0,
            "spread": None,
            "lower_is_better": True,
        }
    ]


def measure_memory(options: argparse.Namespace) -> float:
    """Link one random document. Where the system can't be asked to forget the peak so far, it counts too."""
    import torch

    from spanwise.runtime.memory import resident_bytes
    from spanwise.tasks.coref.documents import CoreferenceData

    torch.set_num_threads(1)
    tokenizer = word_tokenizer()
    model = build(options.sizes[0], tokenizer, depth=options.depth, ffn_size=options.ffn)

    def link(num_words: int) -> None:
        document = _document("long", np.random.default_rng(0), num_words)
        data = CoreferenceData(source="random", documents=(document,))
        features = model.task.featurize(data, tokenizer, model.encoder.config, training=False)
        model.outputs(features)

    link(60)  # what is compiled and loaded once is not the document's
    gc.collect()
    before = resident_bytes()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    link(options.words[0])
    return (peak_now() - before) / MIB


def peak_now() -> int:
    from spanwise.runtime.memory import peak_resident_bytes

    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return peak_resident_bytes()


def main() -> None:
    parser = timing_options(__doc__, rounds=5)
    parser.add_argument("--sizes", nargs="+", help="layers x hidden size (4x256 12x768; for memory 2x768)")
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--ffn", type=int, default=3000)
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--words", type=int, nargs="+", default=[2_000, 20_000])
    options = parser.parse_args()
    options.sizes = options.sizes or (["2x768"] if options.memory else ["4x256", "12x768"])
    if options.work == "memory":
        print(measure_memory(options))
    elif options.work:
        serve(lambda: make(options), CLOCKS[options.clock])
    else:
        if (options.data is None) != (options.tokenizer is None):
            parser.error("--data and --tokenizer go together.")
        rows = memory_rows(options) if options.memory else speed_rows(options)
        show_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
