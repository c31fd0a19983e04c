"""RoBERTa in Hugging Face folders: BERT's layers, positions counted from the padding id, heads of its own.

`max_position_embeddings` counts rows: the first `pad_token_id + 1` of them belong to no position, so 514 rows are 512
positions (FAMILY trap 7E-6).

Source: Hugging Face `RobertaForMaskedLM` and the other `Roberta...` classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.errors import ConfigError
from spanwise.interop.family import Architecture, Family, refuse_unless
from spanwise.interop.key_map import KeyMap, Line, layer_lines
from spanwise.interop.tables import bert
from spanwise.interop.tables.bert import embedding_lines, linear, stock_settings
from spanwise.nn.config import EncoderConfig

PAD_ID = 1  # of RoBERTa's vocabulary, and what its class takes where the setting is absent

HEADS = {
    "mlm": (Line("bias", "lm_head.bias"), *linear("dense", "lm_head.dense"), *linear("norm", "lm_head.layer_norm")),
    "qa": linear("linear", "qa_outputs"),
    "classification": (*linear("dense", "classifier.dense"), *linear("out", "classifier.out_proj")),
    "tagging": linear("out", "classifier"),
    "multiple_choice": linear("out", "classifier"),
}


def read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    pad_id = settings.get("pad_token_id", PAD_ID)
    if isinstance(pad_id, bool) or not isinstance(pad_id, int) or pad_id < 0:
        raise ConfigError(f"pad_token_id = {pad_id!r}; positions are counted from it, so an id was expected.")
    rows = settings.get("max_position_embeddings", 512)
    return {
        "position_offset": pad_id + 1,
        "max_positions": rows - (pad_id + 1),
        "causal": bool(settings.get("is_decoder", False)),
    }


def write_settings(config: EncoderConfig, pad_id: int | None) -> dict[str, Any]:
    return {
        "max_position_embeddings": config.max_positions + config.position_offset,
        "pad_token_id": config.position_offset - 1,
        **stock_settings(config),
    }


def key_map(config: EncoderConfig, settings: Mapping[str, Any]) -> KeyMap:
    """All lines for an encoder of this shape."""
    embeddings, fillers = embedding_lines(config, "roberta.")
    layers, repeats = layer_lines(config, bert.LAYER, lambda i: f"roberta.encoder.layer.{i}")
    return KeyMap(
        encoder=embeddings + layers,
        pooler=linear("pooler.dense", "roberta.pooler.dense"),
        heads=HEADS,
        copies={
            "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
            "lm_head.decoder.bias": "lm_head.bias",
        },
        buffers=frozenset({"roberta.embeddings.position_ids", "roberta.embeddings.token_type_ids"}),
        root="roberta.",
        bare=("embeddings.", "encoder.", "pooler."),
        repeats=repeats,
        fillers=fillers,
    )


def refusal(config: EncoderConfig, pad_id: int | None) -> str | None:
    if config.is_factorised:
        return f"embedding_size = {config.embedding_size}"
    if config.position_offset == 0 or pad_id not in (None, config.position_offset - 1):
        return f"position_offset = {config.position_offset} beside a padding id of {pad_id}"
    return refuse_unless(config, embedding_norm=True)


FAMILY = Family(
    model_type="roberta",
    label="RoBERTa",
    settings={ours: theirs for ours, theirs in bert.SETTINGS.items() if ours != "max_positions"},
    defaults=bert.DEFAULTS,
    activations=bert.ACTIVATIONS,
    only=bert.ONLY,
    read_settings=read_settings,
    write_settings=write_settings,
    refusal=refusal,
    key_map=key_map,
    architectures={
        "RobertaForQuestionAnswering": Architecture(
            kind="task", heads=("qa",), auto="AutoModelForQuestionAnswering", pipeline="question-answering"
        ),
        "RobertaForSequenceClassification": Architecture(
            kind="task",
            heads=("classification",),
            auto="AutoModelForSequenceClassification",
            pipeline="text-classification",
        ),
        "RobertaForTokenClassification": Architecture(
            kind="task", heads=("tagging",), auto="AutoModelForTokenClassification", pipeline="token-classification"
        ),
        "RobertaForMultipleChoice": Architecture(
            kind="task", heads=("multiple_choice",), pooler=True, auto="AutoModelForMultipleChoice"
        ),
        "RobertaForMaskedLM": Architecture(
            kind="language_model", heads=("mlm",), auto="AutoModelForMaskedLM", pipeline="fill-mask", only_gelu=True
        ),
        "RobertaModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "tanh", "multiple_choice": "pooled"},
    names_borders=True,
)
