"""A generator inside a checkpoint: the folder `generator/`, of the same kind as the checkpoint itself.

The shared tables are in both, as the classes of Hugging Face need them, and must be equal.
"""

from dataclasses import replace
from pathlib import Path

import torch

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, fill
from spanwise.interop.folder_plan import FolderContent, SavesItself
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.sources import GENERATOR as FOLDER
from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.corruption.generator import Generator, TokenGenerator

SHARED_VALUES = ("vocab_size", "embedding_width", "max_positions", "position_offset", "num_token_types")
SHARED_TENSORS = ("embeddings.word.", "embeddings.position.", "embeddings.token_type.", "embeddings.norm.")


def has_generator(folder: Path) -> bool:
    """Return whether a generator lies in a checkpoint's folder."""
    return (folder / FOLDER / "config.json").exists()


def read_generator(checkpoint: Checkpoint) -> Checkpoint | None:
    """Return the generator that lies in a checkpoint's folder, None where there is none.

    Raises: CheckpointError where its tables are not those of the checkpoint's encoder.
    """
    folder = checkpoint.folder / FOLDER
    if not has_generator(checkpoint.folder):
        return None
    generator = read_folder(folder)
    cure = f"A generator shares the encoder's tables. Remove {folder} to start with a fresh one."
    for name in SHARED_VALUES:
        mine, theirs = getattr(generator.config, name), getattr(checkpoint.config, name)
        if mine != theirs:
            raise CheckpointError(
                f"{folder} has {name} {mine:,}, the encoder of {checkpoint.folder} {theirs:,}. {cure}"
            )
    for name, tensor in checkpoint.tensors.items():
        if name.startswith(SHARED_TENSORS) and not torch.equal(tensor, generator.tensors[name]):
            raise CheckpointError(f"{name!r} of {folder} is not that of the encoder of {checkpoint.folder}. {cure}")
    return generator


def shaped_generator(part: Generator, generator: Checkpoint, encoder: EncoderConfig) -> Generator:
    """Return the part with the size that a given generator has beside this encoder.

    Raises: CheckpointError where no size gives its shape.
    """
    given = generator.config
    shaped = replace(part, size=given.hidden_size / encoder.hidden_size, layers=given.num_layers / encoder.num_layers)
    made = shaped.config(encoder)
    for name in ("num_heads", "intermediate_size", "activation", "norm_eps", "sharing"):
        if getattr(made, name) != getattr(given, name):
            raise CheckpointError(
                f"{generator.folder} has {name} {getattr(given, name)}; beside this encoder a generator of hidden size "
                f"{given.hidden_size} has {getattr(made, name)}. Remove the folder to start with a fresh generator."
            )
    return shaped


def fill_generator(module: TokenGenerator, generator: Checkpoint) -> list[str]:
    """Copy a given generator's weights; return the names of the heads that it lacks, which stay fresh."""
    fill(module.encoder, generator.tensors, f"the encoder of {generator.folder}")
    for name, head in module.heads.items():
        if name in generator.heads:
            fill(head, generator.heads[name], f"the {name} head of {generator.folder}")
    return [f"{FOLDER}.{name}" for name in module.heads if name not in generator.heads]


def write_generator(folder: Path, module: TokenGenerator, tokenizer: SavesItself, model_type: str) -> None:
    """Write `folder/generator`, for the masked-LM class of the family that the encoder was written for."""
    write_folder(
        folder / FOLDER,
        FolderContent(module.encoder, dict(module.heads.items()), tokenizer, main_head="mlm", model_type=model_type),
    )
