"""Span Boundary Objective head: guess a hidden token from the two visible tokens around its span and its place in it.

Letters: N targets, D hidden size, E width of the word table, P position size, V vocabulary size.
Source: Joshi et al. 2020 (SpanBERT), section 3.2; shapes and order (left, right, position) as in the released code,
models/pair_bert.py. Layer 1 has a bias and takes 2D + P inputs; there is no dropout; the decoder is tied to the word
embedding and has a bias of its own. Layer 2 is D -> E, which is D -> D in SpanBERT.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind, Size
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.nn.layer import gelu
from spanwise.nn.residual import LayerNorm
from spanwise.runtime.row_counts import with_filler

NORM_EPS = 1e-12


class SpanBoundaryHead(TiedDecoder):
    """`transform` boundary pairs, then give the rows with `weight` and `bias` to `vocabulary_loss`.

    Every step works on all N targets at once: the number of autograd nodes does not depend on the number of spans.
    """

    def __init__(
        self, config: EncoderConfig, word_embedding: nn.Parameter, num_positions: int = 15, position_size: int = 200
    ) -> None:
        super().__init__(word_embedding)
        hidden_size = config.hidden_size
        self.positions = nn.Embedding(num_positions, position_size)
        self.linear1 = nn.Linear(2 * hidden_size + position_size, hidden_size)
        self.norm1 = LayerNorm(hidden_size, eps=NORM_EPS)
        self.linear2 = nn.Linear(hidden_size, config.embedding_width)
        self.norm2 = LayerNorm(config.embedding_width, eps=NORM_EPS)

    @property
    def num_positions(self) -> int:
        """The number of tokens of a span that have a row in the position table."""
        return self.positions.num_embeddings

    def transform(self, left: Tensor, right: Tensor, position_index: Tensor) -> Tensor:
        """left, right: [N, D] hidden states before and after the span; position_index: [N] int64, 0 for the span's
        first token. Returns [N, E] float32."""
        boundary_N = torch.cat((left, right, self.positions(position_index)), dim=-1)
        inner_ND = self.norm1(gelu(self.linear1(with_filler(boundary_N)), "gelu"))
        return self.norm2(gelu(self.linear2(inner_ND), "gelu"))[: len(left)]


def _size_of(tensors: Mapping[str, Tensor]) -> Size:
    """The number of positions and the size of their vectors."""
    table = tensors.get("positions.weight")
    return (15, 200) if table is None or table.ndim != 2 else tuple(table.shape)


HEAD_KINDS = (
    HeadKind(
        name="sbo",
        title="span boundary objective",
        build=lambda encoder, size, form: SpanBoundaryHead(encoder.config, encoder.word_embedding, *size),
        size_of=_size_of,
    ),
)
