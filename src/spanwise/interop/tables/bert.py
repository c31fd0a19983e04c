"""Tensor names of BERT in Hugging Face folders and in the original SpanBERT code, against ours.

Each line is (our name, their name or names). Several names on their side are stacked along the rows, which is how
our fused query-key-value product is made of their three. Names of LayerNorm are `weight` and `bias` today and were
`gamma` and `beta` before 2019; the reader takes both.

Source: Hugging Face `BertForPreTraining` and `BertForQuestionAnswering`; SpanBERT models/pair_bert.py for
`cls.pair_target_predictions.*` (FAMILY section 2).
"""

from __future__ import annotations

from spanwise.interop.key_map import KeyMap, Line
from spanwise.nn.config import EncoderConfig

EMBEDDINGS = (
    Line("embeddings.word.weight", "bert.embeddings.word_embeddings.weight"),
    Line("embeddings.position.weight", "bert.embeddings.position_embeddings.weight"),
    Line("embeddings.token_type.weight", "bert.embeddings.token_type_embeddings.weight"),
    Line("embeddings.norm.weight", "bert.embeddings.LayerNorm.weight"),
    Line("embeddings.norm.bias", "bert.embeddings.LayerNorm.bias"),
)

# within one layer: ours below `layers.{i}.`, theirs below `bert.encoder.layer.{i}.`
LAYER = (
    ("attention.qkv", ("attention.self.query", "attention.self.key", "attention.self.value")),
    ("attention.output", ("attention.output.dense",)),
    ("attention.residual.norm", ("attention.output.LayerNorm",)),
    ("feed_forward.up", ("intermediate.dense",)),
    ("feed_forward.down", ("output.dense",)),
    ("feed_forward.residual.norm", ("output.LayerNorm",)),
)

POOLER = (
    Line("pooler.dense.weight", "bert.pooler.dense.weight"),
    Line("pooler.dense.bias", "bert.pooler.dense.bias"),
)

HEADS = {
    "mlm": (
        Line("bias", "cls.predictions.bias"),
        Line("dense.weight", "cls.predictions.transform.dense.weight"),
        Line("dense.bias", "cls.predictions.transform.dense.bias"),
        Line("norm.weight", "cls.predictions.transform.LayerNorm.weight"),
        Line("norm.bias", "cls.predictions.transform.LayerNorm.bias"),
    ),
    "nsp": (
        Line("weight", "cls.seq_relationship.weight"),
        Line("bias", "cls.seq_relationship.bias"),
    ),
    "sbo": (
        Line("bias", "cls.pair_target_predictions.bias"),
        Line("positions.weight", "cls.pair_target_predictions.position_embeddings.weight"),
        Line("linear1.weight", "cls.pair_target_predictions.mlp_layer_norm.linear1.weight"),
        Line("linear1.bias", "cls.pair_target_predictions.mlp_layer_norm.linear1.bias"),
        Line("norm1.weight", "cls.pair_target_predictions.mlp_layer_norm.layer_norm1.gamma"),
        Line("norm1.bias", "cls.pair_target_predictions.mlp_layer_norm.layer_norm1.beta"),
        Line("linear2.weight", "cls.pair_target_predictions.mlp_layer_norm.linear2.weight"),
        Line("linear2.bias", "cls.pair_target_predictions.mlp_layer_norm.linear2.bias"),
        Line("norm2.weight", "cls.pair_target_predictions.mlp_layer_norm.layer_norm2.gamma"),
        Line("norm2.bias", "cls.pair_target_predictions.mlp_layer_norm.layer_norm2.beta"),
    ),
    "qa": (
        Line("linear.weight", "qa_outputs.weight"),
        Line("linear.bias", "qa_outputs.bias"),
    ),
}

# tied or derived copies that some files carry: their name -> the name whose values they must repeat
COPIES = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
    "cls.pair_target_predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
}
BUFFERS = frozenset({"bert.embeddings.position_ids", "bert.embeddings.token_type_ids"})  # counted up, not learned

# what each class of Hugging Face holds beside embeddings and layers; the first whose heads all exist is chosen
ARCHITECTURES = {
    "BertForQuestionAnswering": ("qa",),
    "BertForPreTraining": ("mlm", "nsp", "pooler"),
    "BertForMaskedLM": ("mlm",),
    "BertModel": (),
}


def key_map(config: EncoderConfig) -> KeyMap:
    """All lines for an encoder of this shape."""
    layers = tuple(
        Line(f"layers.{i}.{ours}.{kind}", *(f"bert.encoder.layer.{i}.{name}.{kind}" for name in theirs))
        for i in range(config.num_layers)
        for ours, theirs in LAYER
        for kind in ("weight", "bias")
    )
    return KeyMap(
        encoder=EMBEDDINGS + layers,
        pooler=POOLER,
        heads=HEADS,
        copies=COPIES,
        buffers=BUFFERS,
        root="bert.",
        optional_prefix="decoder.",
    )
