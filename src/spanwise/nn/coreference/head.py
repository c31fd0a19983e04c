"""Coreference head: from the hidden states of a document to its spans and their antecedents.

Letters: T pieces of the document, N candidates, k spans kept, c antecedents, D hidden size.
Source: Lee et al. 2018; Joshi et al. 2019, 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.coreference.antecedents import Antecedents, AntecedentScorer, Spans
from spanwise.nn.coreference.products import product_dtype
from spanwise.nn.coreference.pruning import keep_spans
from spanwise.nn.coreference.spans import SpanScorer, TwoLayers
from spanwise.nn.heads.kind import HeadKind
from spanwise.runtime.memory import return_freed_memory


@dataclass(frozen=True, kw_only=True)
class HeadSizes:
    """The sizes of the head's tensors, beside those of the encoder."""

    ffn_size: int = 3000
    feature_size: int = 20
    max_width: int = 30  # pieces of the longest span
    num_genres: int = 1
    num_segments: int = 3  # distances in segments that are told apart
    gated: bool = False  # for a depth above 1

    def as_tuple(self) -> tuple[int, ...]:
        return (self.ffn_size, self.feature_size, self.max_width, self.num_genres, self.num_segments, int(self.gated))

    @classmethod
    def from_tuple(cls, sizes: tuple[int, ...]) -> HeadSizes:
        *numbers, gated = sizes or cls().as_tuple()
        names = ("ffn_size", "feature_size", "max_width", "num_genres", "num_segments")
        return cls(**dict(zip(names, numbers, strict=True)), gated=bool(gated))

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> HeadSizes:
        """The sizes of a head with these tensors; the default where a table is not there."""
        rows = {name: tensor.shape[0] for name, tensor in tensors.items() if tensor.ndim}
        columns = {name: tensor.shape[1] for name, tensor in tensors.items() if tensor.ndim == 2}
        default = cls()
        return cls(
            ffn_size=rows.get("spans.mention.hidden.weight", default.ffn_size),
            feature_size=columns.get("spans.width.weight", default.feature_size),
            max_width=rows.get("spans.width.weight", default.max_width),
            num_genres=rows.get("antecedents.genre.weight", default.num_genres),
            num_segments=rows.get("antecedents.segments_apart.weight", default.num_segments),
            gated="antecedents.gate.weight" in tensors,
        )


LONG = 4096  # pieces of a document beyond which freed memory goes back before the largest tensors are made


@dataclass(frozen=True)
class DocumentTensors:
    """One document as the head needs it. Candidates and their order stay on the host, where spans are chosen."""

    start_N: np.ndarray  # int64, half-open spans of pieces, sorted by start
    end_N: np.ndarray
    speaker_T: Tensor  # int64; equal numbers, same speaker
    segment_T: Tensor  # int64
    genre: int
    num_spans: int  # how many are kept at most
    always_N: np.ndarray | None = None  # bool: candidates that are kept whatever their score, in training


@dataclass(frozen=True)
class Chosen:
    """The spans that were kept, in order of position, as half-open ranges of pieces, and what pairs are made of."""

    start_k: Tensor
    end_k: Tensor
    spans: Spans


@dataclass(frozen=True)
class Linked:
    """The k spans that were kept, in order of position, and the scores of their antecedents."""

    start_k: Tensor
    end_k: Tensor
    mention_k: Tensor
    antecedents: Antecedents


class CoreferenceHead(nn.Module):
    """Everything above the encoder. Under autocast its large products have rounded factors; all scores are float32."""

    def __init__(self, config: EncoderConfig, sizes: HeadSizes | None = None, *, dropout: float = 0.3) -> None:
        super().__init__()
        sizes = sizes or HeadSizes()
        self.sizes = sizes
        self.spans = SpanScorer(
            config.hidden_size,
            max_width=sizes.max_width,
            feature_size=sizes.feature_size,
            ffn_size=sizes.ffn_size,
            dropout=dropout,
        )
        self.antecedents = AntecedentScorer(
            self.spans.vector_size,
            num_genres=sizes.num_genres,
            num_segments=sizes.num_segments,
            feature_size=sizes.feature_size,
            ffn_size=sizes.ffn_size,
            dropout=dropout,
            gated=sizes.gated,
        )

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate, which no tensor remembers."""
        for module in self.modules():
            if isinstance(module, TwoLayers | SpanScorer | AntecedentScorer):
                module.dropout = rate

    def forward(
        self, hidden_TD: Tensor, document: DocumentTensors, *, num_antecedents: int = 50, depth: int = 1
    ) -> Linked:
        """hidden_TD: of the document's pieces, without special tokens."""
        return self.link(self.choose(hidden_TD, document), num_antecedents=num_antecedents, depth=depth)

    def choose(self, hidden_TD: Tensor, document: DocumentTensors) -> Chosen:
        """The spans that are kept, with their vectors. The hidden states are not needed afterwards."""
        dtype = product_dtype(hidden_TD.device)
        with torch.autocast(hidden_TD.device.type, enabled=False):
            start_N, end_N = document.start_N, document.end_N
            scores_N = self.spans.candidate_scores(hidden_TD.detach(), start_N, end_N, dtype)
            if document.always_N is not None:
                scores_N[document.always_N] = np.inf
            kept = keep_spans(start_N, end_N, scores_N, document.num_spans, len(hidden_TD))
            if len(hidden_TD) > LONG:
                return_freed_memory()  # of the candidates, before the vectors join the hidden states: the peak
            start_k, end_k = (torch.from_numpy(border[kept]).to(hidden_TD.device) for border in (start_N, end_N))
            vectors_kG = self.spans.vectors(hidden_TD.float(), start_k, end_k)
            mention_k = self.spans.mention_scores(vectors_kG, start_k, end_k, dtype)
        speaker_k, segment_k = document.speaker_T[start_k], document.segment_T[start_k]
        return Chosen(start_k, end_k, Spans(vectors_kG, mention_k, speaker_k, segment_k, document.genre))

    def link(self, chosen: Chosen, *, num_antecedents: int = 50, depth: int = 1, overwrite: bool = False) -> Linked:
        """Score the antecedents of chosen spans. overwrite: their vectors are not needed afterwards."""
        dtype = product_dtype(chosen.start_k.device)
        with torch.autocast(chosen.start_k.device.type, enabled=False):
            antecedents = self.antecedents(
                chosen.spans, num_antecedents=num_antecedents, depth=depth, overwrite=overwrite, dtype=dtype
            )
        return Linked(chosen.start_k, chosen.end_k, chosen.spans.mention_k, antecedents)


HEAD_KINDS = (
    HeadKind(
        name="coref",
        title="coreference",
        build=lambda encoder, size, form: CoreferenceHead(encoder.config, HeadSizes.from_tuple(size)),
        size_of=lambda tensors: HeadSizes.of_tensors(tensors).as_tuple(),
        is_labelled=True,
    ),
)
