"""ELECTRA in Hugging Face folders, discriminator and generator: BERT's layers, an embedding size of their own.

The heads of the generator and of sequence classification have the error-function GELU whatever `hidden_act` says; the
discriminator's follows `hidden_act`.

Source: Hugging Face `ElectraForPreTraining` (discriminator), `ElectraForMaskedLM` (generator) and the other
`Electra...` classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.interop.family import Architecture, Family, refuse_unless
from spanwise.interop.key_map import KeyMap, Line, layer_lines
from spanwise.interop.tables import bert
from spanwise.interop.tables.bert import embedding_lines, linear, stock_settings
from spanwise.nn.config import EncoderConfig

HEADS = {
    "mlm": (
        Line("bias", "generator_lm_head.bias"),
        *linear("dense", "generator_predictions.dense"),
        *linear("norm", "generator_predictions.LayerNorm"),
    ),
    "rtd": (
        *linear("dense", "discriminator_predictions.dense"),
        *linear("out", "discriminator_predictions.dense_prediction"),
    ),
    "qa": linear("linear", "qa_outputs"),
    "classification": (*linear("dense", "classifier.dense"), *linear("out", "classifier.out_proj")),
    "tagging": linear("out", "classifier"),
    "multiple_choice": (*linear("dense", "sequence_summary.summary"), *linear("out", "classifier")),
}


def key_map(config: EncoderConfig, settings: Mapping[str, Any]) -> KeyMap:
    """All lines for an encoder of this shape."""
    embeddings, fillers = embedding_lines(config, "electra.")
    if config.is_factorised:
        embeddings += linear("embeddings.projection", "electra.embeddings_project")
    layers, repeats = layer_lines(config, bert.LAYER, lambda i: f"electra.encoder.layer.{i}")
    return KeyMap(
        encoder=embeddings + layers,
        pooler=(),
        heads=HEADS,
        copies={"generator_lm_head.weight": "electra.embeddings.word_embeddings.weight"},
        buffers=frozenset({"electra.embeddings.position_ids", "electra.embeddings.token_type_ids"}),
        root="electra.",
        bare=("embeddings.", "encoder.", "embeddings_project."),
        repeats=repeats,
        fillers=fillers,
    )


def refusal(config: EncoderConfig, pad_id: int | None) -> str | None:
    return refuse_unless(config, position_offset=0, embedding_norm=True)


FAMILY = Family(
    model_type="electra",
    label="ELECTRA",
    settings=bert.SETTINGS | {"embedding_size": "embedding_size"},
    defaults=bert.DEFAULTS | {"embedding_size": 128},
    activations=bert.ACTIVATIONS,
    only=bert.ONLY,
    read_settings=lambda settings: {"causal": bool(settings.get("is_decoder", False))},
    write_settings=lambda config, pad_id: {"embedding_size": config.embedding_width} | stock_settings(config),
    refusal=refusal,
    key_map=key_map,
    architectures={
        "ElectraForQuestionAnswering": Architecture(
            kind="task", heads=("qa",), auto="AutoModelForQuestionAnswering", pipeline="question-answering"
        ),
        "ElectraForSequenceClassification": Architecture(
            kind="task",
            heads=("classification",),
            auto="AutoModelForSequenceClassification",
            pipeline="text-classification",
        ),
        "ElectraForTokenClassification": Architecture(
            kind="task", heads=("tagging",), auto="AutoModelForTokenClassification", pipeline="token-classification"
        ),
        "ElectraForMultipleChoice": Architecture(
            kind="task",
            heads=("multiple_choice",),
            auto="AutoModelForMultipleChoice",
            settings={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
        ),
        "ElectraForPreTraining": Architecture(kind="pretraining", heads=("rtd",), auto="AutoModelForPreTraining"),
        "ElectraForMaskedLM": Architecture(
            kind="language_model", heads=("mlm",), auto="AutoModelForMaskedLM", pipeline="fill-mask", only_gelu=True
        ),
        "ElectraModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "gelu", "multiple_choice": "gelu"},
)
