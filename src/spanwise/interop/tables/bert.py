"""BERT, and with it SpanBERT, in Hugging Face folders and in the original SpanBERT code.

Names of LayerNorm are `weight` and `bias` today and were `gamma` and `beta` before 2019; the reader takes both.

Source: Hugging Face `BertForPreTraining` and the other `Bert...` classes; SpanBERT models/pair_bert.py for
`cls.pair_target_predictions.*`.
"""

from collections.abc import Callable

import torch

from spanwise.interop.family import Activation, Architecture, EncoderLines, Family, usual_classes
from spanwise.interop.json_files import JsonObject
from spanwise.interop.key_map import LayerPart, Line, layer_lines, linear
from spanwise.nn.config import EncoderConfig

EMBEDDING_TABLES = (
    ("word", "word_embeddings"),
    ("position", "position_embeddings"),
    ("token_type", "token_type_embeddings"),
)
LAYER = (
    LayerPart("attention.qkv", ("attention.self.query", "attention.self.key", "attention.self.value")),
    LayerPart("attention.output", ("attention.output.dense",)),
    LayerPart("attention.residual.norm", ("attention.output.LayerNorm",)),
    LayerPart("feed_forward.up", ("intermediate.dense",)),
    LayerPart("feed_forward.down", ("output.dense",)),
    LayerPart("feed_forward.residual.norm", ("output.LayerNorm",)),
)
SETTINGS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "num_token_types": "type_vocab_size",
    "norm_eps": "layer_norm_eps",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
}
DEFAULTS = {
    "max_positions": 512,
    "num_token_types": 2,
    "norm_eps": 1e-12,
    "hidden_dropout": 0.1,
    "attention_dropout": 0.1,
    "initializer_range": 0.02,
}
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_python": "gelu",
    "gelu_tanh": "gelu_tanh",
}
ONLY = {"position_embedding_type": "absolute", "add_cross_attention": False, "pruned_heads": {}}


def stock_settings(config: EncoderConfig) -> JsonObject:
    """Return what the class calls otherwise than we do: it has one token type at least, and is a decoder if causal."""
    return {"type_vocab_size": max(1, config.num_token_types), **({"is_decoder": True} if config.causal else {})}


def encoder_lines(
    config: EncoderConfig,
    root: str,
    *,
    layer: tuple[LayerPart, ...] = LAYER,
    place: Callable[[int], str] | None = None,
    projection: str = "",
) -> EncoderLines:
    """Return the names of an encoder in the manner of BERT: three tables, a norm, and layers below `root`.

    `place` gives the prefix of a layer, `projection` is the name of the product E -> D. A table of zeros stands for no
    token types.
    """
    tables = [
        Line(f"embeddings.{ours}.weight", f"{root}embeddings.{theirs}.weight") for ours, theirs in EMBEDDING_TABLES
    ]
    fillers = {}
    if config.num_token_types == 0:
        tables.pop()
        fillers = {f"{root}embeddings.token_type_embeddings.weight": torch.zeros(1, config.embedding_width)}
    layers, repeats = layer_lines(config, layer, place or (lambda i: f"{root}encoder.layer.{i}"))
    return EncoderLines(
        lines=(
            *tables,
            *linear("embeddings.norm", f"{root}embeddings.LayerNorm"),
            *(linear("embeddings.projection", projection) if config.is_factorised else ()),
            *layers,
        ),
        repeats=repeats,
        fillers=fillers,
        buffers=frozenset({f"{root}embeddings.position_ids", f"{root}embeddings.token_type_ids"}),
    )


PAIR = "cls.pair_target_predictions"
TASK_HEADS = {
    "qa": linear("linear", "qa_outputs"),
    "classification": linear("out", "classifier"),
    "tagging": linear("out", "classifier"),
    "multiple_choice": linear("out", "classifier"),
}
BERT = Family(
    model_type="bert",
    label="BERT",
    settings=SETTINGS,
    defaults=DEFAULTS,
    activations=ACTIVATIONS,
    only=ONLY,
    read_settings=lambda settings: {"causal": bool(settings.get("is_decoder", False))},
    write_settings=lambda config, pad_id: {"position_embedding_type": "absolute"} | stock_settings(config),
    encoder=lambda config, settings: encoder_lines(config, "bert."),
    pooler=linear("pooler.dense", "bert.pooler.dense"),
    heads={
        "mlm": (
            Line("bias", "cls.predictions.bias"),
            *linear("dense", "cls.predictions.transform.dense"),
            *linear("norm", "cls.predictions.transform.LayerNorm"),
        ),
        "nsp": linear("", "cls.seq_relationship"),
        "sbo": (
            Line("bias", f"{PAIR}.bias"),
            Line("positions.weight", f"{PAIR}.position_embeddings.weight"),
            *linear("linear1", f"{PAIR}.mlp_layer_norm.linear1"),
            Line("norm1.weight", f"{PAIR}.mlp_layer_norm.layer_norm1.gamma"),
            Line("norm1.bias", f"{PAIR}.mlp_layer_norm.layer_norm1.beta"),
            *linear("linear2", f"{PAIR}.mlp_layer_norm.linear2"),
            Line("norm2.weight", f"{PAIR}.mlp_layer_norm.layer_norm2.gamma"),
            Line("norm2.bias", f"{PAIR}.mlp_layer_norm.layer_norm2.beta"),
        ),
        **TASK_HEADS,
    },
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
        f"{PAIR}.decoder.weight": "bert.embeddings.word_embeddings.weight",
    },
    root="bert.",
    bare=("embeddings.", "encoder.", "pooler."),
    architectures={
        **usual_classes("Bert"),
        "BertForPreTraining": Architecture(
            kind="pretraining", heads=("mlm", "nsp"), pooler=True, auto="AutoModelForPreTraining"
        ),
        "BertForNextSentencePrediction": Architecture(
            kind="language_model", heads=("nsp",), pooler=True, auto="AutoModelForNextSentencePrediction"
        ),
    },
    forms={"classification": "pooled", "multiple_choice": "pooled"},
)
