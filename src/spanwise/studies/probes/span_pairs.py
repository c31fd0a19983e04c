"""Span pairs: do two mentions mean the same thing? Read off frozen boundary vectors by logistic regression.

A mention's vector is [hidden state of its first token; of its last], as the Span Boundary Objective and the heads of
coreference read a span. A pair's features are the product and the absolute difference of the two vectors. Every mention
with an earlier one of its cluster makes a right pair with the nearest such, so many mentions back. Its wrong twin lies
exactly as far apart: another such mention of the document with the one so many mentions before it, of another cluster;
every mention is the later one of at most one twin of each kind. So the distance says nothing and the later mention
next to nothing, and chance is 50 %. The baseline says yes where both mentions are written alike.

Letters: T pieces of a document, D hidden size, M mentions, A those with an earlier one of their cluster, P pairs,
F features.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Count, Factor
from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.device import choose_device
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.studies.probes.coreference import Corpus, coreference_files
from spanwise.tasks.batches import Packing
from spanwise.tasks.checkpoint import open_tokenizer
from spanwise.tasks.coref.features import CoreferenceFeatures, cut_segments, document_states
from spanwise.tasks.coref.pieces import DocumentPieces, cut_documents
from spanwise.tasks.coref.reader import read_coreference
from spanwise.tasks.frames import frames_of
from spanwise.text.tokenizers import Tokenizer

PACKS = Packing(2_048)


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """P pairs of mentions of one set of documents."""

    document_P: np.ndarray
    mentions_P22: np.ndarray  # [P, 2 mentions, first piece and last piece plus one], the earlier mention first
    same_P: np.ndarray  # bool
    alike_P: np.ndarray  # bool: written alike


@part("span_pairs_probe")
class SpanPairs:
    """Accuracy and area under the ROC curve of a logistic probe on pairs of gold mentions."""

    corpus: Corpus = "ontogum"
    max_pairs: Annotated[Count, Field(ge=2)] = 8_000  # of each file, evenly chosen
    penalty: Factor = 1e-2  # of the squared weights, beside the mean loss

    name: ClassVar[str] = "span-pairs"
    what: ClassVar[str] = "do two mentions corefer, from frozen boundary vectors"
    needs_valid: ClassVar[bool] = False

    figures: ClassVar[tuple[Figure, ...]] = (
        Figure(key="accuracy", label="span pairs: right", unit="%", better="higher"),
        Figure(key="auc", label="span pairs: area under the curve", unit="%", better="higher", main=False),
    )

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        """The documents of the corpus."""
        return coreference_files(self.corpus)

    def measure(self, context: Context) -> Figures:
        checkpoint = read_folder(context.model)
        tokenizer = open_tokenizer(checkpoint, None)
        device = choose_device(context.device)
        encoder = build_encoder(checkpoint).to(device).eval()

        @torch.inference_mode()
        def encode(batch: Batch) -> torch.Tensor:
            on_device = batch.to(device)
            return encoder(on_device.input_ids, on_device.token_type_ids, on_device.sequences)

        found = {}
        for key in ("train", "dev"):
            documents = read_documents(context.material.files[key], tokenizer)
            pairs = self._chosen(documents, context.material.files[key])
            length = min(context.material.max_length, checkpoint.config.max_positions)
            vectors = boundary_vectors(encode, documents, pairs, tokenizer, length)
            found[key] = pair_features(vectors), pairs.same_P
        scores_P = logistic_scores(*found["train"], found["dev"][0], penalty=self.penalty)
        same_P = found["dev"][1]
        return {"accuracy": 100 * float(((scores_P > 0) == same_P).mean()), "auc": 100 * area(scores_P, same_P)}

    def baselines(self, material: Material) -> dict[str, Figures]:
        found = {
            key: self._chosen(read_documents(path, material.store.tokenizer()), path)
            for key, path in material.files.items()
        }
        pairs = found["dev"]
        alike = pairs.alike_P.astype(float)
        right = 100 * float((pairs.alike_P == pairs.same_P).mean())
        return {"written alike": {"accuracy": right, "auc": 100 * area(alike, pairs.same_P)}}

    def _chosen(self, documents: Sequence[DocumentPieces], path: Path) -> Pairs:
        return thinned(pairs_of(documents, str(path)), self.max_pairs)


def read_documents(path: Path, tokenizer: Tokenizer) -> list[DocumentPieces]:
    """Read the documents of a coreference file as pieces with their gold mentions."""
    return cut_documents(read_coreference(path, purpose="score").documents, tokenizer)


def pairs_of(documents: Sequence[DocumentPieces], source: str) -> Pairs:
    """Return right pairs and their wrong twins, one after the other. Raises: DataError where there are none."""
    rows: list[tuple[int, int, int, bool]] = []  # document, earlier mention, mention, same
    for number, document in enumerate(documents):
        for right, wrong in _twins(document.gold_M3):
            rows += [(number, *right, True), (number, *wrong, False)]
    if not rows:
        raise DataError(
            f"{source} has no mention with an earlier one of its cluster and, as far back from another, one of another."
        )
    columns = np.array([row[:3] for row in rows], dtype=np.int64)
    mentions = [[documents[d].gold_M3[m, :2] for m in (a, b)] for d, a, b in columns]
    alike = [_written(documents[d], a) == _written(documents[d], b) for d, a, b in columns]
    return Pairs(
        document_P=columns[:, 0],
        mentions_P22=np.array(mentions, dtype=np.int64),
        same_P=np.array([row[3] for row in rows]),
        alike_P=np.array(alike),
    )


def _twins(gold_M3: np.ndarray) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Give the right pairs of one document with the wrong pairs of a largest matching, each as (earlier, later)."""
    from scipy.sparse import csr_matrix  # heavy, and needed here alone
    from scipy.sparse.csgraph import maximum_bipartite_matching

    start_M, end_M, cluster_M = gold_M3.T
    before = [np.flatnonzero(end_M[:later] <= start_M[later])[::-1] for later in range(len(start_M))]  # nearest first
    same = [cluster_M[before[later]] == cluster_M[later] for later in range(len(start_M))]
    later_A = [later for later in range(len(start_M)) if same[later].any()]
    back_A = [int(same[later].argmax()) for later in later_A]
    is_wrong_AA = [[back < len(same[later]) and not same[later][back] for later in later_A] for back in back_A]
    if not later_A:
        return
    chosen_A = maximum_bipartite_matching(csr_matrix(np.array(is_wrong_AA)), perm_type="column")
    for later, back, chosen in zip(later_A, back_A, chosen_A, strict=True):
        if chosen >= 0:
            other = later_A[chosen]
            yield (int(before[later][back]), later), (int(before[other][back]), other)


def _written(document: DocumentPieces, mention: int) -> str:
    first, last = document.characters(*document.gold_M3[mention, :2])
    return document.text[first:last].casefold()


def thinned(pairs: Pairs, max_pairs: int) -> Pairs:
    """Choose at most `max_pairs` evenly; a right pair and its wrong twin stay together."""
    twins = np.arange(0, len(pairs.same_P), 2)
    kept = twins[:: max(1, -(-2 * len(twins) // max_pairs))]
    rows = np.stack([kept, kept + 1], axis=1).ravel()
    return Pairs(**{name: getattr(pairs, name)[rows] for name in Pairs.__dataclass_fields__})


def boundary_vectors(
    encode: Callable[[Batch], torch.Tensor],
    documents: Sequence[DocumentPieces],
    pairs: Pairs,
    tokenizer: Tokenizer,
    length: int,
) -> np.ndarray:
    """Return the [first; last] hidden states of both mentions of every pair, float32 [P, 2, 2D]."""
    frame, _ = frames_of(tokenizer)
    borders, shown_W2 = cut_segments(documents, length - frame.num_specials)
    features = CoreferenceFeatures(
        documents=tuple(documents),
        borders=borders,
        shown_W2=shown_W2,
        genre_W=np.zeros(len(documents), dtype=np.int64),
        frame=frame,
        max_width=1,
        spans_per_piece=1.0,
        max_spans=1,
    )
    vectors: np.ndarray | None = None
    for number, held in enumerate(document_states(encode, features, PACKS)):
        hidden_TD = held.pop().float().cpu().numpy()
        if vectors is None:
            vectors = np.zeros((len(pairs.same_P), 2, 2 * hidden_TD.shape[1]), dtype=np.float32)
        rows = np.flatnonzero(pairs.document_P == number)
        for place in (0, 1):
            start, end = pairs.mentions_P22[rows, place].T
            if len(rows):
                vectors[rows, place] = np.concatenate([hidden_TD[start], hidden_TD[end - 1]], axis=1)
    assert vectors is not None  # there is a pair, so there is a document
    return vectors


def pair_features(vectors: np.ndarray) -> np.ndarray:
    """Return the product and the absolute difference of two vectors, float64 [P, F = 4D]."""
    a, b = vectors[:, 0].astype(np.float64), vectors[:, 1].astype(np.float64)
    return np.concatenate([a * b, np.abs(a - b)], axis=1)


def logistic_scores(train_PF: np.ndarray, same_P: np.ndarray, dev_PF: np.ndarray, *, penalty: float) -> np.ndarray:
    """Return log-odds [P] of the second set by logistic regression on the first, which also scales the features."""
    from scipy.optimize import minimize  # heavy, and needed here alone

    mean, scale = train_PF.mean(0), train_PF.std(0) + 1e-9
    x_PF, sign_P = (train_PF - mean) / scale, np.where(same_P, 1.0, -1.0)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin_P = sign_P * (x_PF @ weights[:-1] + weights[-1])
        slope_P = -sign_P * np.exp(-np.logaddexp(0.0, margin_P)) / len(sign_P)
        gradient = np.append(x_PF.T @ slope_P + penalty * weights[:-1], slope_P.sum())
        return float(np.logaddexp(0.0, -margin_P).mean() + penalty / 2 * np.square(weights[:-1]).sum()), gradient

    found = minimize(loss, np.zeros(x_PF.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return ((dev_PF - mean) / scale) @ found[:-1] + found[-1]


def area(scores_P: np.ndarray, same_P: np.ndarray) -> float:
    """Return the chance that a right pair scores higher than a wrong one, ties counted half; 0 to 1."""
    from scipy.stats import rankdata  # heavy, and needed here alone

    num_same = int(same_P.sum())
    above = rankdata(scores_P)[same_P].sum() - num_same * (num_same + 1) / 2
    return float(above / (num_same * (len(same_P) - num_same)))
