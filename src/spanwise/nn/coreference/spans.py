"""Spans as vectors, and how likely each is a mention.

A span is the hidden states of its first and its last piece, an embedding of its width, and the mean of its pieces
weighted by a learned attention. Its mention score is a feed-forward network over that vector, plus one over the width
alone.

The first layer of the network is linear in each part of the vector, so all candidates of a document are scored from
three projections a piece instead of one long product a span: some twenty times fewer operations, and no candidate's
vector is ever made. Only the spans that are kept get a vector, with gradients. Work goes chunk by chunk, so that memory
does not grow with the document.

Letters: T pieces, N spans, D hidden size, W greatest width, P size of a feature, F size of the hidden layer,
G = 3D + P size of a span's vector.
Source: Lee et al. 2017, section 3; Joshi et al. 2019 (BERT for coreference).
Differs: which spans are kept is decided without dropout, in training too.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.coreference.last_layer import Shared, one_pass, scores_of_sums
from spanwise.nn.coreference.products import product, rounded
from spanwise.nn.coreference.rows import Rows, at_once, rows_at
from spanwise.nn.dropout import dropout


class TwoLayers(nn.Module):
    """Linear, ReLU, dropout, Linear to one score."""

    def __init__(self, size_in: int, size_hidden: int, dropout_rate: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(size_in, size_hidden)
        self.out = nn.Linear(size_hidden, 1)
        self.dropout = dropout_rate

    def forward(self, rows: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """rows: [..., size_in]. Returns [...]. dtype: what the factors of the first layer are rounded to."""
        return self.score(product(rows, self.hidden.weight, dtype, self.hidden.bias))

    def score(self, before_relu: Tensor) -> Tensor:
        """Return what `forward` gives, from the values behind its first layer, used up: [..., F] -> [...]."""
        return self.out(dropout(before_relu.relu_(), self.dropout, self.training)).squeeze(-1)


class SpanScorer(nn.Module):
    """Vectors and mention scores of spans.

    chunk_spans: candidates that are scored at once. chunk_pieces: pieces that are projected at once. Both change speed
    and memory, never a score by more than rounding.
    """

    def __init__(self, hidden_size: int, *, max_width: int, feature_size: int, ffn_size: int, dropout: float) -> None:
        super().__init__()
        self.hidden_size, self.max_width, self.dropout = hidden_size, max_width, dropout
        self.vector_size = 3 * hidden_size + feature_size
        self.attention = nn.Linear(hidden_size, 1)
        self.width = nn.Embedding(max_width, feature_size)
        self.mention = TwoLayers(self.vector_size, ffn_size, dropout)
        self.prior_width = nn.Embedding(max_width, feature_size)
        self.prior = TwoLayers(feature_size, ffn_size, dropout)
        self.chunk_spans, self.chunk_pieces = 512, 512

    def candidate_scores(
        self, hidden_TD: Tensor, start_N: np.ndarray, end_N: np.ndarray, dtype: torch.dtype | None = None
    ) -> np.ndarray:
        """Mention scores of all candidates, float32 [N] on the host, without gradient or dropout.

        start_N, end_N: half-open, sorted by start. dtype: what the factors of large products are rounded to.
        """
        scores_N = np.empty(len(start_N), dtype=np.float32)
        was_training = self.training
        if was_training:  # else nothing is touched: several threads may ask one model
            self.eval()
        try:
            with torch.no_grad():
                for first, last in self._blocks(start_N):
                    chosen = slice(first, last)
                    self._score_block(hidden_TD, start_N[chosen], end_N[chosen], scores_N[chosen], dtype)
        finally:
            if was_training:
                self.train()
        return scores_N

    def _blocks(self, start_N: np.ndarray) -> Iterator[tuple[int, int]]:
        """Ranges of candidates whose starts lie in the same `chunk_pieces` pieces."""
        if len(start_N):
            borders = np.arange(start_N[0], start_N[-1] + self.chunk_pieces + 1, self.chunk_pieces)
            places = np.searchsorted(start_N, borders)
            yield from ((a, b) for a, b in itertools.pairwise(places.tolist()) if a < b)

    def _score_block(
        self, hidden_TD: Tensor, start_N: np.ndarray, end_N: np.ndarray, scores_N: np.ndarray, dtype: torch.dtype | None
    ) -> None:
        base, last = int(start_N[0]), int(end_N.max())
        pieces = hidden_TD[base:last].float()
        at_start, at_end, by_width, inside = self._first_layer_parts()
        start_TF, end_TF = (product(pieces, weight, dtype) for weight in (at_start, at_end))
        inside_TF = F.linear(rounded(pieces, dtype), rounded(inside, dtype))
        width_WF = F.linear(self.width.weight, by_width, self.mention.hidden.bias)
        prior_W = self.prior(self.prior_width.weight)
        logit_T = self.attention(pieces).squeeze(-1)
        num_spans = at_once(self.chunk_spans, pieces.device)
        for place in range(0, len(start_N), num_spans):
            chunk = slice(place, place + num_spans)
            start_n, end_n = (torch.from_numpy(border[chunk] - base).to(pieces.device) for border in (start_N, end_N))
            here, beyond = int(start_N[chunk][0]) - base, int(end_N[chunk].max()) - base
            weights_nt = attention_weights(logit_T[here:beyond], start_n - here, end_n - here)
            inner_nF = rounded(weights_nt, dtype) @ inside_TF[here:beyond]
            shared = (Shared(start_TF, start_n), Shared(end_TF, end_n - 1), Shared(width_WF, end_n - start_n - 1))
            found_n = self._mention_scores(inner_nF, shared) + prior_W[end_n - start_n - 1]
            scores_N[chunk] = found_n.cpu().numpy()

    def _mention_scores(self, inner_nF: Tensor, shared: tuple[Shared, Shared, Shared]) -> Tensor:
        if one_pass(inner_nF.device):
            return scores_of_sums(inner_nF, shared, self.mention.out)
        summed_nF = inner_nF.float()
        for table, index_n in shared:
            summed_nF += rows_at(table, index_n)
        return self.mention.score(summed_nF)

    def _first_layer_parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The weights for first piece, last piece, width and weighted mean."""
        D, P = self.hidden_size, self.width.embedding_dim
        at_start, at_end, by_width, inside = self.mention.hidden.weight.split([D, D, P, D], dim=1)
        return at_start, at_end, by_width, inside

    def vectors(self, hidden_TD: Tensor, start_N: Tensor, end_N: Tensor) -> Tensor:
        """Vectors of spans in order of position, [N, G], with gradient and dropout."""
        logit_T = self.attention(hidden_TD).squeeze(-1)
        rows = Rows(len(start_N))
        num_spans, on_host = at_once(self.chunk_spans, hidden_TD.device), hidden_TD.device.type == "cpu"
        for start_n, end_n in zip(start_N.split(num_spans), end_N.split(num_spans), strict=True):
            here, beyond = 0, len(hidden_TD)  # a GPU would have to be waited for to read fewer
            if on_host:
                here, beyond = (int(start_n.min()), int(end_n.max())) if len(start_n) else (0, 0)
            mean_nD = attention_weights(logit_T[here:beyond], start_n - here, end_n - here) @ hidden_TD[here:beyond]
            width_nP = dropout(self.width(end_n - start_n - 1), self.dropout, self.training)
            rows.add(torch.cat([rows_at(hidden_TD, start_n), rows_at(hidden_TD, end_n - 1), width_nP, mean_nD], dim=1))
        return rows.joined()

    def mention_scores(
        self, vectors_NG: Tensor, start_N: Tensor, end_N: Tensor, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Mention scores [N] of spans that have a vector, with gradient and dropout."""
        scores = Rows(len(start_N))
        for vectors_nG in vectors_NG.split(at_once(self.chunk_spans, vectors_NG.device)):  # of none: one empty chunk
            scores.add(self.mention(vectors_nG, dtype))
        return scores.joined() + self.prior(self.prior_width.weight)[end_N - start_N - 1]


def attention_weights(logit_t: Tensor, start_n: Tensor, end_n: Tensor) -> Tensor:
    """Softmax of the pieces' logits inside each span, 0 outside. logit_t: [t]; start_n, end_n: [n]. Returns [n, t]."""
    place_t = torch.arange(logit_t.shape[0], device=logit_t.device)
    inside_nt = (place_t >= start_n[:, None]) & (place_t < end_n[:, None])
    return torch.softmax(logit_t.expand(start_n.shape[0], -1).masked_fill(~inside_nt, -torch.inf), dim=1)
