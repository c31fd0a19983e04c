"""The packed encoder: ids of S sequences that lie end to end -> one vector per token.

Letters: T tokens in the pack, S sequences, D hidden size, E width of the embedding tables.
Source: Devlin et al. 2019 (BERT), section 3; Lan et al. 2020 (ALBERT), section 3.1 (factorised embeddings, sharing).
Equal to Hugging Face's `BertModel`, `RobertaModel`, `AlbertModel`, `ElectraModel` and `OpenAIGPTModel` within 1e-5 in
float32.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from spanwise.errors import DataError
from spanwise.nn.attention import packed_contexts
from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import drawn_keys, keys_at
from spanwise.nn.embeddings import Embeddings
from spanwise.nn.layer import make_layers
from spanwise.nn.residual import LayerNorm
from spanwise.nn.sequences import Sequences
from spanwise.runtime.row_counts import num_filler_rows, with_filler, with_filler_places
from spanwise.runtime.seed import derive_key

BESIDE = -2  # an encoder beside another one, among the places where elements are dropped


class Pooler(nn.Module):
    """tanh(Linear(first vector of each sequence)): [S, D] -> [S, D] (BERT; SpanBERT pre-trains none)."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, first: Tensor) -> Tensor:
        return torch.tanh(self.dense(first))


class Encoder(nn.Module):
    """Embeddings and layers. There is no padding: a sequence attends to itself alone.

    `layers` is the order of visits. A sub-layer that is shared stands in every layer that uses it and exists once: in
    memory, in `parameters()`, in the optimizer and in files, under the name of its first visit.

    `embeddings.word.weight` has its rows padded to a multiple of 64; rows from `config.vocab_size` on are zero,
    get no gradient and are not written to files. `pooler` exists where the configuration has one; `forward` doesn't
    run it. `embeddings` given here are another encoder's, of the same tables: those are shared (ELECTRA's generator).
    """

    fills_rows = True  # whether rows of filler spare kernels of products (runtime/row_counts.py)
    recomputes = False  # whether a layer is computed again for its gradient, to the same bits, and only its input kept
    ignores_rows = False  # whether no rows are asked for, so that the last layer has the shapes of the others

    def __init__(self, config: EncoderConfig, embeddings: Embeddings | None = None) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config, embeddings)
        self.layers = nn.ModuleList(make_layers(config))
        has_norm = config.norm_place == "pre"
        self.final_norm = LayerNorm(config.hidden_size, config.norm_eps, bias=config.norm_bias) if has_norm else None
        self.pooler = Pooler(config.hidden_size) if config.pooler else None
        self.is_beside = embeddings is not None  # of an encoder that reads the same tokens, and drops other elements

    @property
    def word_embedding(self) -> nn.Parameter:
        """The table [Vp, E] that vocabulary heads are tied to."""
        table = self.embeddings.word.weight
        assert isinstance(table, nn.Parameter)
        return table

    def finished(self, hidden: Tensor) -> Tensor:
        """Return what the last layer gives as the encoder's hidden states: [T, D] -> [T, D]."""
        return hidden if self.final_norm is None else self.final_norm(hidden)

    def check_lengths(self, sequences: Sequences) -> None:
        """Raises: DataError for a sequence that is longer than the encoder has positions."""
        longest = max(sequences.max_length, sequences.num_positions)
        if longest > self.config.max_positions:
            raise DataError(
                f"A sequence of {longest} tokens came, but this encoder has {self.config.max_positions} "
                "positions. Cut the input into shorter sequences."
            )

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, sequences: Sequences, rows: Tensor | None = None
    ) -> Tensor:
        """Encode one pack.

        input_ids, token_type_ids: [T] int64. rows: [R] int64, different places whose hidden states are wanted; the last
        layer computes no others after its attention, and theirs come back as zeros. Dropout treats a row alike with and
        without. Returns hidden states [T, D] float32.

        Raises:
            DataError: a sequence is longer than the encoder has positions.
        """
        self.check_lengths(sequences)
        if self.training and (self.config.hidden_dropout or self.config.attention_dropout):
            keys = drawn_keys(len(input_ids), input_ids.device) if sequences.keys is None else sequences.keys
            sequences = replace(sequences, keys=keys)
            if self.is_beside:
                seeds = tuple(derive_key(seed, "encoder beside another") for seed in sequences.seeds)
                sequences = replace(sequences, keys=keys_at(keys, BESIDE), seeds=seeds)
        hidden_TD = self.embeddings(input_ids, token_type_ids, sequences)
        num_filler = num_filler_rows(hidden_TD) if self.fills_rows else 0
        if num_filler:
            hidden_TD, sequences = with_filler(hidden_TD), sequences.with_filler(num_filler)
        places = with_filler_places(rows) if rows is not None and self.fills_rows else rows
        contexts = packed_contexts(self.config, sequences, self.training)
        last = len(self.layers) - 1
        for number, (layer, context) in enumerate(zip(self.layers, contexts, strict=True)):
            some = places if number == last else None
            own = None if sequences.keys is None else keys_at(sequences.keys, number)
            if self.recomputes and torch.is_grad_enabled():
                hidden_TD = checkpoint(
                    layer, hidden_TD, context, some, own, use_reentrant=False, preserve_rng_state=False
                )
            else:
                hidden_TD = layer(hidden_TD, context, some, own)
        hidden_TD = self.finished(hidden_TD)
        if rows is None:
            return hidden_TD[: len(input_ids)]
        wanted_RD = hidden_TD[: len(rows)]
        return wanted_RD.new_zeros(len(input_ids), wanted_RD.shape[1]).index_copy(0, rows, wanted_RD)
