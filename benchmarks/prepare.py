"""From text to a token store: speed beside `datasets.map`, and memory that does not grow with the corpus.

    python benchmarks/prepare.py [TEXT...] [--json] [--rounds N] [--threads 2] [--vocab-size 8000] [--tokenizer DIR]

Text: plain files, one paragraph a line; by default the first 10 million characters of the bundled corpus. A vocabulary
is learned from the first file unless a tokenizer is named.

- ours: `spanwise prepare` (sentences, document borders and checksums included), a fresh cache of words each time;
- peer: `load_dataset("text")` and `map(tokenizer, batched=True, num_proc=THREADS)` with the same tokenizer as
  `PreTrainedTokenizerFast`, no special tokens, until the Arrow file lies on disk.

Both read the same uncompressed files; the ids of both are compared, all of them. With more than one file the first
alone is prepared too: all of them may take 1.25 times its memory.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import tempfile
from pathlib import Path

import numpy as np
from interleaved import CLOCKS, memory_row, peak_memory, rate_row, serve, show_rows, take_turns, timing_options

NUM_CHARACTERS = 10_000_000
OURS, FIRST, PEER = "ours", "ours, first file", "datasets.map"


def digest_of(ids: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(ids, dtype=np.int32)).hexdigest()


class Ours:
    def __init__(self, tokenizer: str, texts: list[str]) -> None:
        from spanwise.data.prepare import prepare
        from spanwise.text.tokenizers import Tokenizer

        self.prepare_store, self.tokenizer, self.texts = prepare, Tokenizer.load(tokenizer), texts
        self.start_memory = peak_memory()

    def prepare(self, index: int) -> tempfile.TemporaryDirectory:
        return tempfile.TemporaryDirectory()

    def step(self, index: int, folder: tempfile.TemporaryDirectory) -> int:
        self.folder, self.store = folder, Path(folder.name) / "store"
        self.report = self.prepare_store(self.texts, self.tokenizer, self.store)
        return self.report.num_tokens

    def facts(self) -> dict:
        from spanwise.data.token_store import TokenStore

        store = TokenStore.open(self.store)
        ids = store.gather(np.array([0]), np.array([store.num_tokens]))
        self.folder.cleanup()
        return {"digest": digest_of(ids), "num_tokens": len(ids), "num_characters": self.report.num_characters}


def encode(batch: dict, tokenizer) -> dict:
    return {"input_ids": tokenizer(batch["text"], add_special_tokens=False)["input_ids"]}


class Peer:
    def __init__(self, tokenizer: str, texts: list[str], threads: int) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # processes do the work, as the library advises
        import datasets
        from transformers import AutoTokenizer

        datasets.disable_progress_bars()
        datasets.disable_caching()
        self.datasets, self.texts, self.threads = datasets, texts, threads
        self.tokenizer = AutoTokenizer.from_pretrained(tokenizer)
        self.start_memory = peak_memory()

    def prepare(self, index: int) -> tempfile.TemporaryDirectory:
        return tempfile.TemporaryDirectory()

    def step(self, index: int, folder: tempfile.TemporaryDirectory) -> int:
        self.folder = folder
        raw = self.datasets.load_dataset("text", data_files=self.texts, split="train", cache_dir=folder.name)
        self.rows = raw.map(
            encode,
            fn_kwargs={"tokenizer": self.tokenizer},
            batched=True,
            num_proc=self.threads if self.threads > 1 else None,
            remove_columns=["text"],
        )
        columns = self.rows.data.column("input_ids").chunks
        return sum(len(chunk.values) for chunk in columns)

    def facts(self) -> dict:
        columns = self.rows.data.column("input_ids").chunks
        ids = np.concatenate([chunk.flatten().to_numpy() for chunk in columns])
        self.rows = None
        self.folder.cleanup()
        return {"digest": digest_of(ids), "num_tokens": len(ids)}


def bundled_text(folder: Path) -> Path:
    """The beginning of the corpus that comes with the package, as a plain file."""
    from spanwise.quickstart.bundle import open_bundle

    target = folder / "bundled.txt"
    with open_bundle() as bundle, lzma.open(bundle.train_text, "rt", encoding="utf-8") as source:
        target.write_text(source.read(NUM_CHARACTERS), encoding="utf-8")
    return target


def plain(path: Path, folder: Path) -> Path:
    """The file itself, or an unpacked copy: both sides shall read the same bytes from the same disk."""
    if path.suffix != ".xz":
        return path
    target = folder / path.stem
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


def rows_of(told: dict[str, dict]) -> list[dict]:
    ours, peer = told[OURS], told[PEER]
    if "absent" not in peer and ours["facts"]["digest"] != peer["facts"]["digest"]:
        raise SystemExit(f"the sides do not give the same ids: {ours['facts']} and {peer['facts']}")
    rows = [rate_row("prepare against datasets.map", "tokens/s", ours, peer, 3.0)]
    rows.append(memory_row("prepare, peak memory of one process, against datasets.map", ours, peer))
    if FIRST in told:
        rows.append(memory_row("prepare, peak memory of all files against the first", ours, told[FIRST], 1.25))
    return rows


def main() -> None:
    parser = timing_options(__doc__, rounds=5)
    parser.add_argument("texts", nargs="*", type=Path)
    parser.add_argument("--vocab-size", type=int, default=8_000)
    parser.add_argument("--tokenizer")
    options = parser.parse_args()
    if options.work:
        texts = [str(path) for path in options.texts]
        if options.work == PEER:
            serve(lambda: Peer(options.tokenizer, texts, options.threads), CLOCKS[options.clock])
        else:
            serve(lambda: Ours(options.tokenizer, texts), CLOCKS[options.clock])
        return
    from spanwise.text.learn import learn_tokenizer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = [plain(path, folder) for path in options.texts] or [bundled_text(folder)]
        tokenizer = options.tokenizer
        if tokenizer is None:
            tokenizer = str(folder / "tokenizer")
            learn_tokenizer(texts[0], vocab_size=options.vocab_size, max_characters=5_000_000, out=tokenizer)
        own = [__file__, "--tokenizer", tokenizer, "--threads", str(options.threads), "--clock", options.clock]

        def command(side: str) -> list[str]:
            given = texts[:1] if side == FIRST else texts
            return [*own, "--work", side, *map(str, given)]

        sides = [OURS, PEER, *([FIRST] if len(texts) > 1 else [])]
        told = take_turns(command, sides, rounds=options.rounds, seconds=options.seconds, threads=options.threads)
    show_rows(rows_of(told), as_json=options.json)


if __name__ == "__main__":
    main()
