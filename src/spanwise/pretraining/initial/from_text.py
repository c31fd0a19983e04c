"""Fresh weights from counts of the training text, put into them in seconds, before the first step.

How often two tokens stand beside each other says which tokens are used alike. The shifted logarithm of those counts,
cut to D dimensions by its largest eigenvalues, is what word2vec converges to; masked language modelling spends its
first millions of tokens on finding the same. A table that begins there leaves only the use of the vectors to be
learned.

Source: Levy and Goldberg 2014 (word2vec factorises shifted PMI); Levy et al. 2015, section 3 (positive PMI, context
counts to the power of 0.75, eigenvalues to the power of 1/2).
Letters: V vocabulary, D dimensions, T tokens counted.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from spanwise.errors import DataError
from spanwise.interop.tensor_files import read_safetensors, write_safetensors
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.pretraining.mixtures.mixture import Mixture
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.runtime.files import write_atomic
from spanwise.runtime.progress import RunLog

MOST_TOKENS = 30_000_000  # more change the vectors little
CHUNK = 4_000_000  # tokens whose pairs are held at once
WINDOW = 2  # neighbours on each side; the nearer one counts double
SMOOTHING = 0.75  # power of context counts: rare contexts say less than their PMI
FEWEST = 5  # times a token must be seen to have a vector of its own


def neighbour_vectors(mixture: Mixture, num_dimensions: int) -> np.ndarray:
    """Vectors of all ids, float32 [V, D], each column of mean 0 over the rows that have one, all of standard deviation
    1; rows of ids that are seen less than five times are NaN. A text of few ids has as many columns as they allow.

    At most 30 million tokens are counted, the first of each store; a store weighs as much as its share. Borders of
    sentences and documents are not looked at: at two neighbours a side they are a few pairs in a hundred.
    Raises: DataError where the text has not even three ids that are seen so often.
    """
    from scipy.sparse import csr_matrix, diags  # heavy, and asked for here alone
    from scipy.sparse.linalg import eigsh

    num_ids = mixture.vocabulary.size
    counts_VV = csr_matrix((num_ids, num_ids), dtype=np.float64)
    seen_V = np.zeros(num_ids, dtype=np.int64)
    for ids, weight in _chunks(mixture):
        seen_V += np.bincount(ids, minlength=num_ids)
        for distance in range(1, WINDOW + 1):
            pairs = np.full(max(0, len(ids) - distance), weight / distance)
            counts_VV += csr_matrix((pairs, (ids[: len(pairs)], ids[distance:])), shape=counts_VV.shape)
    known = np.flatnonzero(seen_V >= FEWEST)
    if len(known) < 3:
        raise DataError(
            f"only {len(known)} ids stand {FEWEST} times or more in the text, too few to count neighbours; take more "
            "text, or initial.words='normal'."
        )
    num_columns = min(num_dimensions, len(known) - 1)
    counts = (counts_VV + counts_VV.T).tocsr()[known][:, known].tocoo()
    of_word = np.asarray(counts.sum(axis=1)).ravel()
    of_context = of_word**SMOOTHING
    of_context /= of_context.sum()
    pmi = np.log(counts.data / np.maximum(of_word[counts.row] * of_context[counts.col], 1e-300))
    positive = pmi > 0
    matrix = csr_matrix((pmi[positive], (counts.row[positive], counts.col[positive])), shape=counts.shape)
    matrix = (matrix + matrix.T) / 2
    # a start of its own would be drawn anew at every call
    values, vectors = eigsh(matrix, k=num_columns, which="LM", v0=np.ones(len(known)))
    largest_first = np.argsort(-np.abs(values), kind="stable")
    vectors = vectors[:, largest_first] @ diags(np.sqrt(np.abs(values[largest_first])))
    vectors -= vectors.mean(axis=0)
    found = np.full((num_ids, num_columns), math.nan, dtype=np.float32)
    found[known] = vectors / vectors.std()
    return found


def _chunks(mixture: Mixture) -> Iterator[tuple[np.ndarray, float]]:
    """The tokens of all stores, int64, some millions at a time, and what one of them counts."""
    taken = [min(part.store.num_tokens, int(MOST_TOKENS * part.share)) for part in mixture.parts]
    for part, last in zip(mixture.parts, taken, strict=True):
        for first in range(0, last, CHUNK):
            ids = part.store.gather(np.array([first]), np.array([min(CHUNK, last - first)])).astype(np.int64)
            yield ids, part.share * sum(taken) / last


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
            write_atomic(file, lambda place: write_safetensors({KEY: torch.from_numpy(found)}, place))
        set_words(table, read_safetensors(file)[KEY], initial.std or model.encoder.config.initializer_range)
    if initial.biases == "unigram":
        counts_V = torch.from_numpy(mixture.vocabulary.unigram_counts).double()
        if not counts_V.any():
            raise DataError(f"{mixture} has no counts of its ids; take initial.biases='zero'.")
        for head in model.modules():  # those of a generator too
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
