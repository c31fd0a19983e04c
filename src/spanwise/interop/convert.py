"""Other people's model folders made into plain Hugging Face folders of today.

Old names, shards and pickles become one safetensors file, a missing `model_type` is said, heads of the SpanBERT authors
lie where this package finds them, and a cased vocabulary gets a tokenizer that keeps case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, check_vocabulary, read_tokenizer
from spanwise.interop.combined.reading import carried_line
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import Written, read_folder, write_folder
from spanwise.interop.json_files import Settings
from spanwise.interop.record import MANAGED
from spanwise.interop.sources import CONFIG, GENERATOR
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.runtime.files import atomic_folder
from spanwise.text.tokenizers import Tokenizer

StoredType = Literal["fp32", "bf16"]
STORED_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, kw_only=True)
class Converted:
    """A model as it was read, and the folder that it became."""

    target: Path
    checkpoint: Checkpoint
    written: Written
    tokenizer: Tokenizer | None
    generator: Converted | None = None


def convert(
    source: str | Path | Checkpoint,
    target: str | Path,
    tokenizer: str | Path | None = None,
    *,
    dtype: StoredType = "fp32",
    finish: Callable[[Tokenizer], Tokenizer] = lambda words: words,
) -> Converted:
    """Write the model of `source` (a folder, a hub id, or one that was read) as `target`, which appears whole or not at
    all. Of a folder with several tasks it is the base alone.

    tokenizer: folder of the tokenizer, where it is not the source's own. dtype: of the numbers in the files; bf16 is
    half as large, and rounds each to 8 binary digits. finish: what is done to the tokenizer before it is written.

    Raises:
        CheckpointError: a source that is missing, foreign or damaged, or a tokenizer that is not its own.
        ConfigError: `target` exists, or lies in the source.
    """
    target = Path(target)
    checkpoint = source if isinstance(source, Checkpoint) else read_folder(source)
    if target.resolve().is_relative_to(checkpoint.folder.resolve()):
        raise ConfigError(f"{target} lies in the folder that is read; choose a place outside of {checkpoint.folder}.")
    with atomic_folder(target) as folder:
        words = Path(tokenizer) if tokenizer is not None else None
        return _convert(checkpoint, folder, target, words, STORED_TYPES[dtype], finish=finish)


def rewrite(
    checkpoint: Checkpoint,
    folder: Path,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Sequence[str] = (),
    extra: Settings | None = None,
) -> None:
    """Write a model that was read into an empty folder, its weights as they are, in numbers of `dtype`; `facts` are
    sentences for its card, `extra` entries of its record. Raises: CheckpointError as `convert`."""
    _convert(checkpoint, folder, folder, None, dtype, facts=facts, extra=extra)


def _convert(
    checkpoint: Checkpoint,
    folder: Path,
    target: Path,
    tokenizer: Path | None,
    dtype: torch.dtype,
    *,
    facts: Sequence[str] = (),
    extra: Settings | None = None,
    finish: Callable[[Tokenizer], Tokenizer] = lambda words: words,
) -> Converted:
    words = read_tokenizer(checkpoint, tokenizer)
    if words is not None:
        check_vocabulary(checkpoint, words)
        words = finish(words)
    family = BY_MODEL_TYPE.get(checkpoint.model_type)
    architecture = family.architectures.get(checkpoint.source_class) if family else None
    has_heads = architecture is not None and checkpoint.heads.keys() >= set(architecture.heads)
    written = write_folder(
        folder,
        FolderContent(
            build_encoder(checkpoint),
            checkpoint.heads,
            words,
            extra={
                **{name: value for name, value in checkpoint.record.items() if name not in MANAGED},
                **(extra or {}),
            },
            main_head=architecture.heads[0] if architecture and has_heads and architecture.heads else None,
            main_kind=architecture.kind if architecture else None,
            model_type=checkpoint.model_type,
            labels=checkpoint.labels,
            problem_type=checkpoint.problem_type,
            facts=(*facts, *carried_line(checkpoint.record)),
        ),
        dtype=dtype,
    )
    generator = None
    if (checkpoint.folder / GENERATOR / CONFIG).exists():
        inner = read_folder(checkpoint.folder / GENERATOR)
        generator = _convert(inner, folder / GENERATOR, target / GENERATOR, tokenizer, dtype)
    return Converted(target=target, checkpoint=checkpoint, written=written, tokenizer=words, generator=generator)
