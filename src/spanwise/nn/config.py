"""The values an encoder is built from. A switch is here only if two supported systems differ in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Chance, Deviation, Dropout, Layers, Rows, RowsOrNone, Width
from spanwise.errors import ConfigError

Base = Annotated[float, Field(gt=0, le=1e12)]
Activation = Literal["gelu", "gelu_tanh", "silu"]


@part("encoder_shape")
class EncoderConfig:
    """Shape and constants of one encoder (BERT, section 3; Hugging Face names in brackets where they differ).

    Each field says which two supported systems differ in it. In a recipe `vocab_size` is 0: `for_vocabulary` fills it
    in when the tokenizer is known.
    """

    vocab_size: RowsOrNone = 0  # real ids: SpanBERT 28,996, RoBERTa 50,265; 0 in a recipe: the tokenizer decides
    hidden_size: Width  # BERT base 768, large 1,024
    num_layers: Layers  # [num_hidden_layers] base 12, large 24
    num_heads: Width  # [num_attention_heads] base 12, large 16
    intermediate_size: Rows  # base 3,072, large 4,096
    max_positions: Rows = 512  # [max_position_embeddings] BERT 512, nano recipes less
    num_token_types: RowsOrNone = 2  # [type_vocab_size] BERT 2, RoBERTa 1, GPT-1 0: no table
    activation: Activation = "gelu"  # SpanBERT erf, Google's BERT and GPT-1 tanh, SwiGLU SiLU
    norm_eps: Chance = 1e-12  # [layer_norm_eps] BERT 1e-12, RoBERTa 1e-5
    hidden_dropout: Dropout = 0.1  # [hidden_dropout_prob] BERT 0.1, ALBERT xxlarge 0
    attention_dropout: Dropout = 0.0  # [attention_probs_dropout_prob] BERT papers 0.1, our recipes 0
    initializer_range: Deviation = 0.02  # BERT 0.02; other systems may truncate differently
    pooler: bool = False  # BERT has one, SpanBERT pre-trains none
    embedding_size: Width | None = None  # E: ALBERT 128, ELECTRA small 128; None: as wide as the layers, BERT
    sharing: Literal["none", "all", "attention", "feed_forward"] = "none"  # by all layers: ALBERT all, BERT none
    causal: bool = False  # GPT-1 sees what stands before a token, BERT both sides
    position_offset: RowsOrNone = 0  # first position's row: RoBERTa 2 (514 rows for 512 positions), BERT 0
    embedding_norm: bool = True  # BERT normalises its embeddings, GPT-1 does not
    embedding_dropout: Dropout | None = None  # ModernBERT has one of its own; None: hidden_dropout, BERT
    norm_place: Literal["post", "pre"] = "post"  # BERT after a sub-layer; ModernBERT before it, and once at the end
    rotary_base: Base | None = None  # [rope_theta] ModernBERT 160,000 and no table of positions; None: BERT's table
    local_rotary_base: Base | None = None  # of local layers: ModernBERT 10,000; None: as in global ones
    local_window: Rows | None = None  # tokens to each side that a local layer sees: ModernBERT 64; None: all, BERT
    global_every: Rows = 3  # where there are local layers, the first of so many is global: ModernBERT 3
    gated: bool = False  # GeGLU or SwiGLU: intermediate_size is the width behind the gate. ModernBERT yes, BERT no
    attention_bias: bool = True  # ModernBERT has no biases in products of attention
    feed_forward_bias: bool = True  # nor in those of its feed-forward networks
    norm_bias: bool = True  # nor in its LayerNorms
    head_bias: bool = True  # nor in the first product of its heads

    @property
    def embedding_width(self) -> int:
        """The columns of the embedding tables: E where the embeddings are factorised, D where they are not."""
        return self.embedding_size or self.hidden_size

    @property
    def is_factorised(self) -> bool:
        """Return whether a product E -> D stands between tables and layers. There is none where E is D (ELECTRA
        base)."""
        return self.embedding_width != self.hidden_size

    def for_vocabulary(self, vocab_size: int) -> EncoderConfig:
        """Return these values for a vocabulary of V real ids. Raises: ConfigError where there are none."""
        if vocab_size < 1:
            raise ConfigError(f"encoder.vocab_size must be at least 1, got {vocab_size}.")
        return replace(self, vocab_size=vocab_size)

    @property
    def has_position_table(self) -> bool:
        """Return whether positions have vectors of their own, which BERT learns; rotary ones turn queries and keys
        instead."""
        return self.rotary_base is None

    def is_local(self, layer: int) -> bool:
        """Return whether a layer, counted from 0, sees a window around each token instead of its whole sequence."""
        return self.local_window is not None and layer % self.global_every != 0

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise ConfigError(
                f"encoder.hidden_size {self.hidden_size} does not divide by encoder.num_heads {self.num_heads}; "
                "choose a hidden size that is a multiple of the number of heads."
            )
        self._check_positions()

    def _check_positions(self) -> None:
        """Refuse ways to tell positions that do not go together. Raises: ConfigError."""
        if self.rotary_base is None and self.local_rotary_base is not None:
            raise ConfigError("encoder.local_rotary_base is set and encoder.rotary_base is not; set both or neither.")
        if self.rotary_base is not None and self.position_offset:
            raise ConfigError("encoder.position_offset is of a table of positions, and rotary positions have none.")
        if self.rotary_base is not None and self.hidden_size // self.num_heads % 2:
            raise ConfigError(
                f"encoder.rotary_base needs heads of an even size, got {self.hidden_size // self.num_heads}."
            )
