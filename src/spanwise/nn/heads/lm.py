"""Masked language modelling head: a hidden row -> a row that meets the word table.

Letters: N rows, D hidden size, E width of the word table, V vocabulary size, Vp = V rounded up to a multiple of 64.
Source: Devlin et al. 2019 (BERT), section 3.1; Linear D -> E, GELU, LayerNorm, decoder tied to the word embedding with
a bias of its own. E is D but for factorised embeddings (ALBERT, ELECTRA's generator).
"""

import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind
from spanwise.nn.layer import gelu
from spanwise.nn.residual import LayerNorm
from spanwise.runtime.row_counts import apply_to_rows


class TiedDecoder(nn.Module):
    """Base of heads that end in the word table: holds the table without owning it, and mostly an own bias [Vp].

    The table is no parameter of the head, so it is counted, saved and decayed once, by the encoder. Moving or
    copying the whole model keeps the tie.
    """

    def __init__(self, word_embedding: nn.Parameter, bias: bool = True) -> None:
        super().__init__()
        self._tied = (word_embedding,)  # a tuple hides it from nn.Module's registration
        zeros = torch.zeros(word_embedding.shape[0])
        if bias:
            self.bias: Tensor = nn.Parameter(zeros)
        else:
            self.register_buffer("bias", zeros, persistent=False)  # GPT-1: neither learned nor saved

    @property
    def weight(self) -> nn.Parameter:
        """The word table [Vp, E], shared with the encoder."""
        return self._tied[0]


class MaskedLMHead(TiedDecoder):
    """`transform` the rows, then give them with `weight` and `bias` to `vocabulary_loss`."""

    def __init__(self, config: EncoderConfig, word_embedding: nn.Parameter) -> None:
        super().__init__(word_embedding)
        # BERT's has the form of GELU that its layers have, ModernBERT's the error function whatever its layers have
        self.activation = config.activation if config.norm_place == "post" else "gelu"
        width = config.embedding_width
        self.dense = nn.Linear(config.hidden_size, width, bias=config.head_bias)
        self.norm = LayerNorm(width, eps=config.norm_eps, bias=config.norm_bias)

    def transform(self, rows: Tensor) -> Tensor:
        """rows: [N, D], hidden states at the N targets alone. Returns [N, E] float32."""
        return self.norm(gelu(apply_to_rows(self.dense, rows), self.activation))


HEAD_KINDS = (
    HeadKind(
        name="mlm",
        title="masked language model",
        build=lambda encoder, size, form: MaskedLMHead(encoder.config, encoder.word_embedding),
    ),
    HeadKind(
        name="clm",
        title="causal language model",
        build=lambda encoder, size, form: TiedDecoder(encoder.word_embedding, bias=False),
    ),
)
