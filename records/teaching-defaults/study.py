"""Teach small encoders at several rates, with and without dropout, for few and for more steps: which values work?

    python study.py DATA OUT [MINUTES [ENCODER]]     called again it goes on

MINUTES (25): no cell begins later than that. ENCODER: only cells of this one; `batches` and `heads` ask those of
question-batches.json and coreference-heads.json in place of them, and write these files in OUT.

DATA holds the files that FILES names; the questions to score on are bundled. Each cell is one `spanwise.finetune` with
these values given, kept as OUT/cells/NAME.json; OUT/result.json and OUT/table.md are written after each. The second
stage compares what `finetune` takes unasked with what it took before there was a rule: the recipes of the papers. The
third asks for dropout and twice the epochs, at the rate that was best in the first.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path

import spanwise
from spanwise.interop.convert import convert
from spanwise.runtime.files import remove_folder, write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes.cuts import chosen, cut_questions, cut_sentences
from spanwise.tasks.base import numbers_of
from spanwise.tasks.files.text import read_lines

# nano, nano-ko and night shipped when their cells were run (commit be24e88, src/spanwise/weights); result.json beside
# this file keeps those cells, and they are not asked again
ENCODERS = {"mini": "spanwise-mini", "korean": "spanwise-nano-ko"}
CORPUS = Path(str(files("spanwise.quickstart"))) / "corpus"
PAPERS = {
    "tagging": "bert",
    "classification": "spanbert",
    "qa": "spanbert",
    "coref": "spanbert-base",
    "relation": "spanbert",
    "multiple-choice": "bert",
}
FILES = {  # of a task by name: which task, training and development file, score, development examples that are asked
    "chunks": ("tagging", "tagging/conll2000/train.txt.xz", "tagging/conll2000/test.txt.xz", "f1", 300),
    "klue-ner": ("tagging", "ko/klue_ner/part_train.tsv.xz", "ko/klue_ner/part_dev.tsv.xz", "f1", 300),
    "sst-2": ("classification", "glue/SST-2/train.tsv.xz", "glue/SST-2/dev.tsv", "accuracy", 800),
    "nsmc": ("classification", "ko/nsmc/train.tsv.xz", "ko/nsmc/dev.tsv.xz", "accuracy", 800),
    "questions": ("qa", "qa/qamr/qamr_wiki.json.xz", CORPUS / "qa-dev.json.xz", "f1", 500),
    "korean-questions": ("qa", CORPUS / "ko/qa-train.json.xz", CORPUS / "ko/own-questions.json.xz", "f1", 158),
    "coreference": ("coref", "coref/ontogum/train.conll.xz", "coref/ontogum/dev.conll.xz", "conll_f1", 20),
    "relations": ("relation", "re/tacred_format/train.json.xz", "re/tacred_format/dev.json.xz", "f1", 900),
    "choices": ("multiple-choice", "mc/codah/fold0_train.tsv.xz", "mc/codah/fold0_dev.tsv", "accuracy", 500),
}

# what is learned, and from how many examples; what is cheap to ask first
ASKED = (
    ("mini", "chunks", 100),
    ("mini", "sst-2", 1_000),
    ("mini", "relations", 1_000),
    ("mini", "choices", 1_000),
    ("mini", "coreference", 20),
    ("mini", "questions", 1_000),
    ("korean", "klue-ner", 3_499),
    ("korean", "korean-questions", 1_000),
)
RATES = (7e-5, 2e-4, 5e-4, 1e-3, 2e-3)
BATCH_SIZE, LEAST_STEPS, EPOCHS = 16, 200, 5
DOCUMENT_EPOCHS = 20  # as in all recipes of coreference


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run: what is taught to which encoder, with which values; all others are those of the task's first recipe."""

    encoder: str
    data: str
    size: int  # training examples
    rate: float = 0.0
    epochs: int = 0
    dropout: float = 0.0
    seed: int = 0
    recipe: str | None = None  # "usual", "paper" or a name: all values as it has them, in place of the four above
    changes: tuple[str, ...] = ()  # of the recipe

    @property
    def name(self) -> str:
        values = self.recipe or f"{self.rate:.0e}-{self.epochs}-{self.dropout}-{self.seed}"
        values = "-".join([values, *self.changes])
        return f"{self.encoder}-{self.data}-{self.size}-{values}"

    @property
    def values(self) -> list[str]:
        """What is changed in the task's first recipe, or in the one that is named."""
        if self.recipe:
            return list(self.changes)
        return [
            f"training.learning_rate={self.rate}", f"training.num_epochs={self.epochs}", f"training.seed={self.seed}",
            f"hidden_dropout={self.dropout}", f"batch_size={batch_size(self.data)}",
        ]  # fmt: skip


def batch_size(data: str) -> int:
    """Return how many examples a step reads: a document is a step of its own."""
    return 1 if FILES[data][0] == "coref" else BATCH_SIZE


def usual(encoder: str, data: str, size: int, rate: float) -> Cell:
    """A cell of the first stage: no dropout, five epochs or 200 steps, whichever is more; of documents 20 epochs."""
    is_coref = FILES[data][0] == "coref"
    epochs = DOCUMENT_EPOCHS if is_coref else max(EPOCHS, LEAST_STEPS * batch_size(data) // size)
    return Cell(encoder=encoder, data=data, size=size, rate=rate, epochs=epochs)


def first_stage() -> list[Cell]:
    """The rates."""
    return [usual(*asked, rate) for asked in ASKED for rate in RATES[1:4]]


def second_stage() -> list[Cell]:
    """What is taken unasked, and what was."""
    return [
        Cell(encoder=encoder, data=data, size=size, recipe=recipe)
        for encoder, data, size in ASKED
        for recipe in ("usual", "paper")
    ]


def batches() -> list[Cell]:
    """Questions in batches of 16 and 32, paired over seeds, and with dropout; more of them by one seed."""
    seeds = ((size, seed) for size, number in ((1_000, 5), (3_000, 1)) for seed in range(number))
    changes = [(size, (f"batch_size={number}", f"training.seed={seed}")) for size, seed in seeds for number in (16, 32)]
    changes.append((1_000, ("batch_size=32", "training.seed=0", "hidden_dropout=0.1")))
    return [
        Cell(encoder="mini", data="questions", size=size, recipe="usual", changes=change) for size, change in changes
    ]


def heads() -> list[Cell]:
    """The paper's coreference head, and what of it is changed to come near that of `small`, one after the other."""
    steps = ("task.depth=1 task.ffn_size=256", "task.keep_gold=true", "training.head_learning_rate=5e-4")
    changes = [tuple(" ".join(steps[:number]).split()) for number in range(len(steps) + 1)]
    return [Cell(encoder="mini", data="coreference", size=20, recipe="documents", changes=change) for change in changes]


ALONE = {"batches": (batches, "question-batches.json"), "heads": (heads, "coreference-heads.json")}


def third_stage(best: list[Cell]) -> list[Cell]:
    """At the best rate of each encoder, data and size: dropout, and twice the epochs."""
    return [changed for cell in best for changed in (replace(cell, dropout=0.1), replace(cell, epochs=2 * cell.epochs))]


def cut(data: str, part: str, path: Path, size: int, folder: Path) -> Path:
    """Write so many examples of a file."""
    target, task = folder / part, FILES[data][0]
    if task == "tagging":
        return cut_sentences(path, size, target)
    if task == "qa":
        return cut_questions(path, size, target)
    if task == "coref":
        return cut_documents(path, size, target)
    target.mkdir(parents=True, exist_ok=True)
    if task == "relation":
        pairs, kept = json.loads("\n".join(read_lines(path))), target / f"{data}-{size}.json"
        write_text_atomic(kept, json.dumps([pairs[index] for index in chosen(len(pairs), size)]) + "\n")
        return kept
    lines, kept = read_lines(path), target / f"{data}-{size}.tsv"
    head = [] if task == "multiple-choice" else lines[:1]
    rows = lines[len(head) :]
    write_text_atomic(kept, "\n".join([*head, *(rows[index] for index in chosen(len(rows), size))]) + "\n")
    return kept


def cut_documents(path: Path, size: int, folder: Path) -> Path:
    """Write so many documents of a file in the CoNLL format."""
    documents: list[list[str]] = []
    for line in read_lines(path):
        if line.startswith("#begin document"):
            documents.append([])
        documents[-1].append(line)
    kept = folder / f"coreference-{size}.conll"
    lines = itertools.chain.from_iterable(documents[index] for index in chosen(len(documents), size))
    folder.mkdir(parents=True, exist_ok=True)
    write_text_atomic(kept, "\n".join(lines) + "\n")
    return kept


def run(cell: Cell, source: Path, out: Path) -> dict:
    """The record of a cell: its values, its score, steps and seconds."""
    kept = out / "cells" / f"{cell.name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    task, train, dev, score, num_asked = FILES[cell.data]
    folder = out / "runs" / cell.name
    values = [*cell.values, "training.threads=1", "training.save_minutes=null"]
    began = time.process_time()
    result = spanwise.finetune(
        task,
        model=encoder(cell.encoder, out),
        train=cut(cell.data, "train", source / train, cell.size, out / "data"),
        dev=cut(cell.data, "dev", source / dev, num_asked, out / "data"),
        out=folder,
        recipe=PAPERS[task] if cell.recipe == "paper" else None if cell.recipe == "usual" else cell.recipe,
        overrides=values,
        resume=True,
        log=RunLog(folder),
    )
    taken = result.recipe
    found = {
        **asdict(cell),
        "rate": taken.training.learning_rate,
        "epochs": taken.training.num_epochs,
        "dropout": taken.hidden_dropout or 0.0,  # None: the encoder's own, which is 0 in all
        "seed": taken.training.seed,
        "score": numbers_of(result.scores)[score],
        "steps": result.training.steps,
        "loss": sum(result.training.losses.values()),
        "seconds": time.process_time() - began,
    }
    write_text_atomic(kept, json.dumps(found, indent=1) + "\n")
    remove_folder(folder)
    return found


def table(cells: list[dict]) -> str:
    """One line per encoder, data, size and setting, the rates as columns; then what was taken unasked."""
    unasked = [cell for cell in cells if cell["recipe"]]
    cells = [cell for cell in cells if not cell["recipe"]]
    rates = sorted({cell["rate"] for cell in cells})
    head = "| encoder | data | examples | epochs (steps) | dropout | " + " | ".join(f"{rate:.0e}" for rate in rates)
    rows: dict[tuple, dict[float, float]] = {}
    for cell in cells:
        key = tuple(cell[name] for name in ("encoder", "data", "size", "epochs", "steps", "dropout"))
        rows.setdefault(key, {})[cell["rate"]] = cell["score"]
    lines = [f"{head} |", "|" + "---|" * (5 + len(rates))]
    for (encoder, data, size, epochs, steps, dropout), scores in sorted(rows.items()):
        shown = " | ".join(f"{scores[rate]:.1f}" if rate in scores else "" for rate in rates)
        lines.append(f"| {encoder} | {data} | {size:,} | {epochs:g} ({steps}) | {dropout:g} | {shown} |")
    if unasked:
        lines += ["", "| encoder | data | examples | recipe | rate | epochs (steps) | score |", "|" + "---|" * 7]
    for cell in unasked:
        start = f"| {cell['encoder']} | {cell['data']} | {cell['size']:,} | {cell['recipe']} | {cell['rate']:.1e}"
        lines.append(f"{start} | {cell['epochs']:g} ({cell['steps']}) | {cell['score']:.1f} |")
    return "\n".join(lines) + "\n"


def encoder(name: str, out: Path) -> Path:
    """Return the folder of an encoder without the tasks that ship with it."""
    folder = out / "encoders" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        convert(ENCODERS[name], folder)
    return folder


def kept(out: Path) -> list[dict]:
    """The records of all cells of the stages that were asked, in any call, and of those that were not asked here."""
    cells = json.loads((Path(__file__).parent / "result.json").read_text())
    cells += [json.loads(path.read_text()) for path in sorted((out / "cells").glob("*.json"))]
    parts = ("encoder", "data", "size", "recipe", "seed", "epochs", "rate", "dropout")
    found = {
        tuple(cell[part] for part in (parts[:4] if cell["recipe"] else parts)): cell
        for cell in cells
        if cell["recipe"] in (None, "usual", "paper") and not cell.get("changes")
    }
    return list(found.values())


def main(source: Path, out: Path, minutes: float = 25, only: str | None = None) -> None:
    if only not in (None, *ENCODERS, *ALONE):
        sys.exit(f"{only} is none of {', '.join([*ENCODERS, *ALONE])}.")
    (out / "cells").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def ask(cells: list[Cell]) -> None:
        for cell in cells:
            if only in (None, cell.encoder, *ALONE) and time.monotonic() - began < 60 * minutes:
                record = run(cell, source, out)
                print(f"{cell.name}: {record['score']:.1f} in {record['seconds']:.0f} s", flush=True)
            found = kept(out)
            write_text_atomic(out / "result.json", json.dumps(found, indent=1) + "\n")
            write_text_atomic(out / "table.md", table(found))

    if only in ALONE:
        make, file = ALONE[only]
        cells = make()
        ask(cells)
        asked = [out / "cells" / f"{cell.name}.json" for cell in cells]
        found = [json.loads(path.read_text()) for path in asked if path.exists()]
        write_text_atomic(out / file, json.dumps(found, indent=1) + "\n")
        return
    first = first_stage()
    ask(first)
    ask(second_stage())
    names = {cell.name for cell in first}
    best: dict[tuple[str, str, int], dict] = {}
    for path in sorted((out / "cells").glob("*.json")):
        record = json.loads(path.read_text())
        key = (record["encoder"], record["data"], record["size"])
        if path.stem in names and (key not in best or record["score"] > best[key]["score"]):
            best[key] = record
    ask(third_stage([usual(*key, record["rate"]) for key, record in best.items()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:4]), *sys.argv[4:])
