"""Damaged files: any file of a store, a run, its checkpoints, a study's records or a fine-tuned folder is changed, and
what reads it names the damage, goes back to what is whole, or ends with the very same result. Nothing is silent."""

import itertools
import logging
import random
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.reliability.figure import Figure
from tests.reliability.order import small_store
from tests.reliability.toy_run import saved_by, train_toy
from tests.tasks.tuned import tuned_folder

from spanwise.data.token_store import TokenStore
from spanwise.errors import SpanwiseError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import atomic_folder, refuse_edited
from spanwise.studies.folder import read_record, write_record
from spanwise.tasks.checkpoint import load_task_model
from spanwise.training import checkpoint

MUTATIONS = ("flipped", "cut", "extended", "zeroed", "swapped", "deleted")
NOTES = (".md", "vocab.txt", "LOCK")  # for people and older tools, or held by the system: nothing here reads them


def mutate(path: Path, kind: str, chance: random.Random, other: Path) -> None:
    """Change one file; `other` is what may take its place."""
    content = bytearray(path.read_bytes())
    if kind == "deleted":
        path.unlink()
        return
    if kind == "flipped" and content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        content = content[: chance.randrange(max(1, len(content)))]
    elif kind == "extended":
        content += bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
    elif kind == "zeroed":
        begin = chance.randrange(max(1, len(content)))
        end = min(len(content), begin + chance.choice((1, 16, 512)))
        content[begin:end] = bytes(end - begin)
    elif kind == "swapped" and chance.random() < 0.5:
        content = bytearray(other.read_bytes())
    elif kind == "swapped" and len(content) > 8:
        size = chance.randint(1, len(content) // 4)
        a, b = chance.randrange(len(content) // 2 - size + 1), len(content) // 2
        content[a : a + size], content[b : b + size] = content[b : b + size], content[a : a + size]
    path.write_bytes(content)


@dataclass
class Target:
    """A folder to damage. `read` uses it as the package does: what it gave, and what it said."""

    name: str
    folder: Path
    read: Callable[[Path], tuple[object, list[str]]]
    share: float  # of all cases


def damaged_files(scratch: Path, seed: int, *, cases: int) -> Figure:
    """Draw cases over all targets: which file, which change. Files are drawn evenly, whatever their size."""
    figure = Figure(
        "any file of a store, checkpoint, run, study, fine-tuned folder damaged: named or fallback; 0 silent"
    )
    chance = random.Random(seed)
    scratch.mkdir(exist_ok=True)
    counts: dict[str, int] = {}
    for target in make_targets(scratch):
        before = contents(target.folder)
        wanted, _ = target.read(shutil.copytree(target.folder, scratch / "whole"))
        shutil.rmtree(scratch / "whole")
        folder, end = scratch / "damaged", figure.tried + max(2, round(cases * target.share))
        for kind in itertools.cycle(MUTATIONS):
            if figure.tried == end:
                break
            name = chance.choice(sorted(before))
            shutil.copytree(target.folder, folder)
            mutate(folder / name, kind, chance, folder / chance.choice(sorted(before)))
            if contents(folder) != before:  # zeros over zeros are no damage, and no case
                outcome = outcome_of(target, folder, wanted, name)
                counts[outcome.split(":")[0]] = counts.get(outcome.split(":")[0], 0) + 1
                figure.check(not outcome.startswith(("silent", "crash")), f"{target.name}, {name} {kind}: {outcome}")
            shutil.rmtree(folder)
    figure.facts = {"outcomes": counts}
    return figure


def outcome_of(target: Target, folder: Path, wanted: object, name: str) -> str:
    """How the damage ended: "refused", "said", "harmless"; "silent" and "crash" break the promise."""
    try:
        found, said = target.read(folder)
    except SpanwiseError as error:
        return "refused" if str(folder) in str(error) else f"silent: no path in {error}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
    if found == wanted:
        return "said, same result" if said else "harmless"
    return (
        "said" if any(name in line or Path(name).name in line for line in said) else f"silent: another result, {said}"
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that counts below a folder."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if not name.endswith(NOTES)}


def make_targets(scratch: Path) -> list[Target]:
    """A store, a run in its middle and at its end, a fine-tuned folder (as predict and training read it), records."""
    store = small_store(scratch / "text")
    with_saves(scratch / "run", scratch / "middle")
    base = scratch / "base"
    config = EncoderConfig(vocab_size=store.vocabulary.size, num_layers=2, hidden_size=32, num_heads=2,
                                    intermediate_size=64, max_positions=64)  # fmt: skip
    encoder = Encoder(config)
    initialize(encoder, config, 1)
    base.mkdir()
    write_folder(base, FolderContent(encoder, {}, store.tokenizer()))
    with atomic_folder(scratch / "tuned") as temporary:
        tuned_folder(base, temporary, "qa")
    for number in range(3):
        write_record(
            scratch / "study" / f"measure-{number}.json", {"figures": {"a": number, "b": [1.5, 2]}, "settings": {}}
        )
    return [
        Target("store", store.path, read_store, 0.35),
        Target("run", scratch / "middle", read_run, 0.15),
        Target("finished run", scratch / "run", read_run, 0.05),
        Target("fine-tuned folder, asked", scratch / "tuned", read_tuned, 0.15),
        Target("fine-tuned folder, started from", scratch / "tuned", read_start, 0.15),
        Target("records of a study", scratch / "study", read_records, 0.15),
    ]


def with_saves(run: Path, middle: Path) -> None:
    """A finished toy run, and a copy of it as it was after its second save."""
    real = checkpoint.save_checkpoint

    def save(folder: Path, step: int, *rest, **more) -> Path:
        written = real(folder, step, *rest, **more)
        if step == 4:
            DISK.copy_tree(run, middle)
        return written

    checkpoint.save_checkpoint = save
    try:
        train_toy(run)
    finally:
        checkpoint.save_checkpoint = real


def read_store(folder: Path) -> tuple[object, list[str]]:
    """Every token of a store."""
    store = TokenStore.open(folder)
    store.verify()
    ids = store.gather(store.sentence_offsets[:-1], store.sentence_lengths.astype(np.int64))
    return (store.sha256, ids.tobytes(), store.tokenizer().sha256), []


def read_run(folder: Path) -> tuple[object, list[str]]:
    """Go on with a run to its end. Its log is a log: weights and moments are the result, and a hurt line is said."""
    said = train_toy(folder, resume=True)
    return saved_by(folder), [line for line in said if "not used" in line or "damaged" in line or "missing" in line]


def read_tuned(folder: Path) -> tuple[object, list[str]]:
    """Load a fine-tuned folder as predict does, with its warnings."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("spanwise")
    logger.addHandler(handler)
    logger.propagate, kept = False, logger.propagate
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            loaded = load_task_model(folder, "qa")
        said += [str(one.message) for one in warned]
    finally:
        logger.removeHandler(handler)
        logger.propagate = kept
    tensors = {name: value.numpy().tobytes() for name, value in loaded.model.state_dict().items()}
    return (tensors, loaded.task, loaded.tokenizer.sha256), said


def read_start(folder: Path) -> tuple[object, list[str]]:
    """The look at a folder before anything is trained on it; one that lost its manifest isn't known as ours."""
    said: list[str] = []
    refuse_edited(folder, say=said.append)
    if not (folder / "manifest.json").exists():
        said.append("manifest.json is gone: a folder of somebody else, which a run's record names by its hash")
    return None, said


def read_records(folder: Path) -> tuple[object, list[str]]:
    """The measures of a study; one that is gone is measured again."""
    found = [read_record(path, "figures", "settings") for path in (folder / f"measure-{n}.json" for n in range(3))]
    said = [f"measure-{n}.json is gone" for n in range(3) if found[n] is None]
    return found, said
