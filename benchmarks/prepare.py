"""From text to a token store: speed, and memory that does not grow with the corpus.

    python benchmarks/prepare.py TEXT... [--json] [--vocab-size 8000]

The first file alone, then all of them, each in a process of its own; a vocabulary is learned from the first file. Peak
memory is the process's resident set. The goal is that all files take no more than 1.25 times the memory of the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def work(tokenizer: str, texts: list[str]) -> dict[str, float]:
    """Prepare the texts here and tell what it took."""
    from spanwise.data.prepare import prepare
    from spanwise.text.tokenizers import Tokenizer

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        report = prepare(texts, Tokenizer.load(tokenizer), Path(folder) / "store")
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "characters": report.num_characters,
        "tokens": report.num_tokens,
        "seconds": seconds,
        "tokens_per_second": report.num_tokens / seconds,
        "peak_mib": peak,
    }


def run_apart(tokenizer: str, texts: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", tokenizer, *texts]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--vocab-size", type=int, default=8_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", metavar="TOKENIZER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(work(arguments.work, arguments.texts)))
        return
    from spanwise.text.learn import learn_tokenizer

    with tempfile.TemporaryDirectory() as folder:
        learned = Path(folder) / "tokenizer"
        learn_tokenizer(arguments.texts[0], vocab_size=arguments.vocab_size, out=learned)
        rows = [run_apart(str(learned), texts) for texts in (arguments.texts[:1], arguments.texts)]
    growth = rows[1]["peak_mib"] / rows[0]["peak_mib"]
    if arguments.json:
        print(json.dumps({"first": rows[0], "all": rows[1], "memory_ratio": growth, "goal": 1.25}))
        return
    for name, row in zip(("first file", "all files"), rows, strict=True):
        print(
            f"{name:10}  {row['characters'] / 1e6:7.1f} M characters  {row['tokens'] / 1e6:6.2f} M tokens  "
            f"{row['seconds']:6.1f} s  {row['tokens_per_second'] / 1e3:7.0f} k tokens/s  "
            f"peak {row['peak_mib']:5.0f} MiB"
        )
    print(f"memory of all over first: {growth:.2f} (goal: at most 1.25)")


if __name__ == "__main__":
    main()
