"""ELECTRA in Hugging Face folders, discriminator and generator: BERT's layers, an embedding size of their own.

The heads of the generator and of sequence classification have the error-function GELU whatever `hidden_act` says; the
discriminator's follows `hidden_act`.

Source: Hugging Face `ElectraForPreTraining` (discriminator), `ElectraForMaskedLM` (generator) and the other
`Electra...` classes.
"""

from dataclasses import replace

from spanwise.interop.family import Architecture, Family, usual_classes
from spanwise.interop.key_map import Line, linear
from spanwise.interop.tables import bert

_CLASSES = usual_classes("Electra", pooled=(), only_gelu=True)
ELECTRA = Family(
    model_type="electra",
    label="ELECTRA",
    settings=bert.SETTINGS | {"embedding_size": "embedding_size"},
    defaults=bert.DEFAULTS | {"embedding_size": 128},
    activations=bert.ACTIVATIONS,
    only=bert.ONLY,
    read_settings=lambda settings: {"causal": bool(settings.get("is_decoder", False))},
    write_settings=lambda config, pad_id: {"embedding_size": config.embedding_width} | bert.stock_settings(config),
    encoder=lambda config, settings: bert.encoder_lines(config, "electra.", projection="electra.embeddings_project"),
    heads={
        "mlm": (
            Line("bias", "generator_lm_head.bias"),
            *linear("dense", "generator_predictions.dense"),
            *linear("norm", "generator_predictions.LayerNorm"),
        ),
        "rtd": (
            *linear("dense", "discriminator_predictions.dense"),
            *linear("out", "discriminator_predictions.dense_prediction"),
        ),
        **bert.TASK_HEADS,
        "classification": (*linear("dense", "classifier.dense"), *linear("out", "classifier.out_proj")),
        "multiple_choice": (*linear("dense", "sequence_summary.summary"), *linear("out", "classifier")),
    },
    copies={"generator_lm_head.weight": "electra.embeddings.word_embeddings.weight"},
    root="electra.",
    bare=("embeddings.", "encoder.", "embeddings_project."),
    architectures={
        **_CLASSES,
        "ElectraForMultipleChoice": replace(
            _CLASSES["ElectraForMultipleChoice"],
            settings={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
        ),
        "ElectraForPreTraining": Architecture(kind="pretraining", heads=("rtd",), auto="AutoModelForPreTraining"),
    },
    forms={"classification": "gelu", "multiple_choice": "gelu"},
)
