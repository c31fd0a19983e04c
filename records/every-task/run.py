"""Fine-tune every task of tasks.py from a checkpoint and from random weights of its shape; call it again to go on.

    python run.py DATA OUT NAME=FOLDER ...        NAME is one of STARTS, FOLDER the checkpoint's folder
    python run.py DATA OUT NAME=FOLDER:SST-2,CoLA  those rows alone

DATA holds the files that tasks.py names. Each run is `spanwise finetune` in a process of its own, so that its peak
memory is its own; then `spanwise evaluate` reads the trained folder afresh: are its scores those of the run? Writes
OUT/result.json and OUT/table.md after every row.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from tasks import ROWS, Row


@dataclass(frozen=True)
class Start:
    """A checkpoint to begin with: the language of its vocabulary, a rate for its size, and the share of the steps."""

    language: str
    learning_rate: float
    share: float = 1.0


STARTS = {
    "spanbert-2x128": Start("en", 1e-3),
    "minilm-6x384": Start("en", 1e-4, share=0.5),
    "spanbert-ko": Start("ko", 1e-3),
}
ARMS = {"trained": (), "random": ("--reset-weights",)}


def finetune_command(row: Row, start: Start, folder: str, data: Path, out: Path) -> list[str]:
    steps = round(row.steps * start.share)
    rate = start.learning_rate
    values = [f"training.max_steps={steps}", "training.num_epochs=null", f"training.learning_rate={rate}"]
    values += ["training.seed=0", "hidden_dropout=null", *row.set]  # null: the encoder's own
    if row.task != "coref":  # one document a step, and a rate of its own for the head
        values.append("batch_size=16")
    command = ["finetune", row.task, "--model", folder, "--train", str(data / row.train), "--dev", str(data / row.dev)]
    command += ["--out", str(out), "--json", "--errors", "repair"]
    command += ["--recipe", row.recipe] if row.recipe else []
    for value in values:
        command += ["--set", value]
    return command


def measured(arguments: list[str], log: Path) -> tuple[str, float, float]:
    """Output, seconds and peak memory in MiB of one command of spanwise."""
    log.parent.mkdir(parents=True, exist_ok=True)
    output = log.with_suffix(".out")
    began = time.monotonic()
    with output.open("w") as standard, log.open("a") as errors:
        actions = [(os.POSIX_SPAWN_DUP2, standard.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
        command = [sys.executable, "-m", "spanwise", *arguments]
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"spanwise {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}; see {log}")
    return output.read_text(), time.monotonic() - began, usage.ru_maxrss / 1024


def run(row: Row, name: str, arm: str, folder: str, data: Path, out: Path) -> dict:
    start, slug = STARTS[name], re.sub(r"\W+", "-", row.name.lower())
    target = out / f"{name}-{arm}" / slug
    kept = out / f"{name}-{arm}" / f"{slug}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    log = out / f"{name}-{arm}" / f"{slug}.log"
    going_on = ["--resume"] if (target / "plan.jsonl").exists() else []
    command = [*finetune_command(row, start, folder, data, target), *ARMS[arm], *going_on]
    text, seconds, memory = measured(command, log)
    trained = json.loads(text)
    found = {
        "scores": trained["scores"],
        "seconds": seconds,
        "peak_memory_mib": memory,
        "steps": trained["steps"],
        "tokens": trained["tokens"],
    }
    if arm == "trained":  # what the folder says when it is read afresh
        arguments = ["evaluate", row.task, "--model", str(target / "final"), "--data", str(data / row.dev), "--json"]
        text, found["evaluation_seconds"], _ = measured(arguments, log)
        found["same_scores_from_the_folder"] = json.loads(text) == trained["scores"]
    kept.write_text(json.dumps(found, indent=1))
    return found


def table(results: dict) -> str:
    lines = ["| task | score | start | trained | random weights | difference | minutes | MiB |", "|" + "---|" * 8]
    for row in ROWS:
        for name in STARTS:
            arms = results.get(row.name, {}).get(name, {})
            if len(arms) < len(ARMS):
                continue
            trained, random = (arms[arm]["scores"][row.score] for arm in ARMS)
            minutes = arms["trained"]["seconds"] / 60
            memory = arms["trained"]["peak_memory_mib"]
            lines.append(
                f"| {row.name} | {row.score} | {name} | {trained:.1f} | {random:.1f} | {trained - random:+.1f} "
                f"| {minutes:.1f} | {memory:,.0f} |"
            )
    return "\n".join(lines) + "\n"


def main(data: Path, out: Path, starts: dict[str, str]) -> None:
    kept = out / "result.json"
    results: dict = json.loads(kept.read_text()) if kept.exists() else {}
    for name, given in starts.items():
        folder, _, chosen = given.partition(":")
        names = chosen.split(",") if chosen else [row.name for row in ROWS if row.language == STARTS[name].language]
        for row in (row for row in ROWS if row.name in names):
            for arm in ARMS:
                found = run(row, name, arm, folder, data, out)
                results.setdefault(row.name, {}).setdefault(name, {})[arm] = found
                kept.write_text(json.dumps(results, indent=1) + "\n")
                (out / "table.md").write_text(table(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), dict(argument.split("=", 1) for argument in sys.argv[3:]))
