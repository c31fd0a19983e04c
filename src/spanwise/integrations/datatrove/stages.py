"""What a cluster does to prepare a corpus, as a list of pipelines for any executor of datatrove.

The input is cut into parts by its files alone, each at least `part_bytes` long, and a part is a task. So neither the
number of workers nor their order changes a bit of the store, or which of two near duplicates stays.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.utils.hashing import HashConfig

from spanwise.data.store_writer import SHARD_BYTES
from spanwise.errors import ConfigError
from spanwise.integrations.datatrove.steps import MergeStoreParts, ReadTexts, WriteStorePart
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject, write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.text.corpus import CorpusOptions, corpus_files
from spanwise.text.tokenizers import Tokenizer

PART_BYTES = 1 << 28
PLAN_NAME = "plan.json"


@dataclass(frozen=True)
class Stage:
    """One pipeline: give it to an executor with this many tasks, which depends on the stage before."""

    name: str
    steps: list[PipelineStep]
    tasks: int
    logs: str  # the executor's logging_dir, where datatrove notes which tasks are done


def prepare_stages(
    texts: Sequence[str | Path],
    tokenizer: Path,
    out: Path,
    work: Path,
    *,
    options: CorpusOptions | None = None,
    filters: Sequence[PipelineStep] = (),
    minhash: MinhashConfig | None = None,
    part_bytes: int = PART_BYTES,
    shard_bytes: int = SHARD_BYTES,
) -> list[Stage]:
    """Return the stages that make the store `out` of texts; without filters it is that of `spanwise prepare`.

    `filters` are steps of datatrove, run over each document before it is split. With `minhash` one of each group of
    near duplicates stays; the text is then read and filtered twice. `work` is a folder that all workers see: parts,
    logs, and the plan, which a restart must share. Texts that match when this is called are those that are read.
    Raises: ConfigError where `out` has another plan in `work` or `part_bytes` is below 1; DataError as `corpus_files`.
    """
    options = options or CorpusOptions()
    files = [file.resolve() for file in corpus_files(list(texts))]
    parts = cut_into_parts(files, part_bytes)
    out, work, tokenizer = out.absolute(), work.absolute(), tokenizer.absolute()
    plan: JsonObject = {
        "out": str(out),
        "files": [[str(file), file.stat().st_size] for file in files],
        "tokenizer": Tokenizer.load(tokenizer).sha256,
        "options": asdict(options),
        "filters": [described(step) for step in filters],
        "minhash": str(minhash),
        "part_bytes": part_bytes,
        "shard_bytes": shard_bytes,
    }
    claim(work, plan)
    read: list[PipelineStep] = [ReadTexts(parts, options), *filters]
    found: list[tuple[str, list[PipelineStep], int]] = []
    if minhash is not None:
        signatures, pairs, removed = (str(work / name) for name in ("signatures", "pairs", "removed"))
        language = options.language
        found += [
            ("signatures", [*read, MinhashDedupSignature(signatures, minhash, language)], len(parts)),
            ("pairs", [MinhashDedupBuckets(signatures, pairs, config=minhash)], minhash.num_buckets),
            ("clusters", [MinhashDedupCluster(pairs, removed, minhash)], 1),
        ]
        read = [*read, MinhashDedupFilter(removed)]
    write = WriteStorePart(work / "parts", tokenizer, options, shard_bytes=shard_bytes)
    merge = MergeStoreParts(work / "parts", len(parts), out, shard_bytes=shard_bytes)
    found += [("parts", [*read, write], len(parts)), ("store", [merge], 1)]
    return [Stage(name, steps, tasks, str(work / "logs" / name)) for name, steps, tasks in found]


def usual_minhash() -> MinhashConfig:
    """Return datatrove's own settings (5-grams, 14 buckets of 8 hashes), with the hash that needs no other package."""
    return MinhashConfig(hash_config=HashConfig(precision=64, hash_fc="sha1"))


def cut_into_parts(files: Sequence[Path], part_bytes: int) -> list[list[Path]]:
    """Return files that follow each other, in groups of at least `part_bytes`; a file is never cut."""
    if part_bytes < 1:
        raise ConfigError(f"part_bytes={part_bytes}: at least 1 is needed.")
    parts: list[list[Path]] = [[]]
    size = 0
    for file in files:
        if size >= part_bytes:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += file.stat().st_size
    return parts


def claim(work: Path, plan: JsonObject) -> None:
    """Write the plan into the work folder, or compare it with the one that is there.

    Raises: ConfigError naming what differs: what is finished there was made otherwise.
    """
    path = work / PLAN_NAME
    if not DISK.exists(path):
        DISK.make_folders(work)
        write_text_atomic(path, f"{json.dumps(plan)}\n")
        return
    try:
        found: JsonObject = decode_json(path.read_bytes())
        different = [name for name in plan if found[name] != plan[name]]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise ConfigError(f"{path} cannot be read ({cause!r}). Choose another work folder, or remove it.") from cause
    if different:
        raise ConfigError(
            f"{work} was begun with other {', '.join(different)}. Choose another work folder, or remove it."
        )


def described(step: PipelineStep) -> JsonObject:
    """Return a step's class and its plain settings, by which a restart knows it again."""
    plain = {name: _plain(value) for name, value in vars(step).items() if name != "stats"}
    return {"step": type(step).__name__, **{name: value for name, value in plain.items() if value is not None}}


def _plain(value: object) -> object:
    if isinstance(value, list | tuple | set | frozenset):
        return [str(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return value if isinstance(value, str | int | float | bool) else None
