"""Fresh weights from counts of the training text, put into them before the first step."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import DataError
from spanwise.interop.tensor_files import read_safetensors, write_safetensors
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.pretraining.initial.word_vectors import neighbour_vectors
from spanwise.pretraining.mixtures.mixture import Mixture
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.runtime.progress import RunLog

KEY = "words"


def begin_from_text(
    model: PretrainingModel, recipe: PretrainingRecipe, mixture: Mixture, file: Path, log: RunLog
) -> None:
    """Set the word table and the biases of a fresh model as `recipe.initial` asks, in place.

    The vectors are kept in `file`: a run that goes on and other processes of it read them there, as eigenvectors may
    differ in their last digits from machine to machine. Raises: DataError where the text says too little.
    """
    initial = recipe.initial
    if initial.words == "neighbours":
        table = model.encoder.word_embedding
        if not file.exists():
            log.say("Counting neighbours for the first word vectors.")
            found = neighbour_vectors(mixture, table.shape[1])
            unfinished = file.with_suffix(".unfinished")
            write_safetensors({KEY: torch.from_numpy(found)}, unfinished)
            os.replace(unfinished, file)
        set_words(table, read_safetensors(file)[KEY], initial.std or model.encoder.config.initializer_range)
    if initial.biases == "unigram":
        counts_V = torch.from_numpy(mixture.vocabulary.unigram_counts).double()
        if not counts_V.any():
            raise DataError(f"{mixture} has no counts of its ids; take initial.biases='zero'.")
        for head in model.heads.values():
            if isinstance(head, TiedDecoder) and isinstance(head.bias, torch.nn.Parameter):
                set_bias(head.bias, counts_V, sum(part.store.num_tokens for part in mixture.parts))


def set_words(table: Tensor, vectors_VD: Tensor, std: float) -> None:
    """Overwrite the rows of the table that have a vector, as far as it reaches; the others (special tokens, rare ids)
    stay random."""
    known_V = ~vectors_VD.isnan().any(dim=1)
    num_ids, num_columns = vectors_VD.shape
    with torch.no_grad():
        table[:num_ids, :num_columns][known_V] = vectors_VD[known_V].to(table) * std


def set_bias(bias: Tensor, counts_V: Tensor, num_tokens: int) -> None:
    """The logarithm of every id's share of the text, each seen once more than it was, with mean 0."""
    logs_V = torch.log(counts_V / counts_V.sum() + 1.0 / num_tokens)
    with torch.no_grad():
        bias[: len(counts_V)] = (logs_V - logs_V.mean()).to(bias)
