"""`config.json` of Hugging Face against our `EncoderConfig`, in both directions.

Only plain numbers and names are read. `auto_map`, `trust_remote_code`, `_attn_implementation` and everything else
that could make a loader run code has no effect here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.family import Family
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.tables import BY_CLASS, BY_MODEL_TYPE
from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import SequenceForm
from spanwise.runtime.suggest import did_you_mean

FRACTIONS = frozenset({"norm_eps", "hidden_dropout", "attention_dropout", "initializer_range"})
SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
REGRESSION = "regression"
PROBLEM_TYPES = (SINGLE_LABEL, MULTI_LABEL, REGRESSION)  # what config.json calls the kind of a classifier's scores
UNNAMED = {"hidden_size", "num_hidden_layers", "num_attention_heads"}  # of BERT folders older than `model_type`


def find_family(settings: Settings, path: Path) -> Family:
    """Return the family that the content of `path` speaks of. Before 2019 folders named none: those are BERT's.

    Raises:
        CheckpointError: a `model_type` that is not supported, or none and not BERT's settings either.
    """
    model_type = settings.get("model_type")
    if model_type is None and settings.keys() >= UNNAMED:
        return BY_CLASS.get(named_class(settings), BY_MODEL_TYPE["bert"])
    if model_type is None:
        raise CheckpointError(f"{path} names no model_type and lacks BERT's settings (hidden_size, num_hidden_layers).")
    if not isinstance(model_type, str) or model_type not in BY_MODEL_TYPE:
        supported = ", ".join(BY_MODEL_TYPE)
        raise CheckpointError(
            f"{path} says model_type {model_type!r}; this version reads: {supported}."
            f"{did_you_mean(str(model_type), BY_MODEL_TYPE)}"
        )
    return BY_MODEL_TYPE[model_type]


def encoder_config(settings: Settings, path: Path) -> EncoderConfig:
    """Read the shape of an encoder out of the content of `path`; `pooler` is left False, tensors decide it.

    Raises:
        CheckpointError: another kind of model, a missing or senseless value.
    """
    family = find_family(settings, path)
    for key, only in family.only.items():
        if settings.get(key, only) != only:
            raise CheckpointError(f"{path} says {key} = {settings[key]!r}; only {only!r} is supported.")
    values = dict(family.constants)
    for ours, theirs in family.settings.items():
        value = settings.get(theirs)
        if value is None:
            if ours not in family.defaults:
                raise CheckpointError(f"{path} lacks {theirs!r}.")
            values[ours] = family.defaults[ours]
            continue
        wanted = (int, float) if ours in FRACTIONS else (int,)
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise CheckpointError(f"{path} says {theirs} = {value!r}; a number was expected.")
        values[ours] = float(value) if ours in FRACTIONS else value
    activation = settings.get(family.activation_key, next(iter(family.activations)))
    if not isinstance(activation, str) or activation not in family.activations:
        supported = ", ".join(family.activations)
        raise CheckpointError(f"{path} says {family.activation_key} {activation!r}; supported: {supported}.")
    try:
        values |= family.read_settings(settings)
        if values.get("embedding_size") == values["hidden_size"]:
            values["embedding_size"] = None
        config = EncoderConfig(activation=family.activations[activation], **values)
        return config.for_vocabulary(config.vocab_size)
    except (ConfigError, TypeError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def named_class(settings: Settings) -> str:
    """Return the class that a folder says it is for; "" where it says none."""
    named = settings.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""


def read_labels(settings: Settings) -> tuple[str, ...]:
    """Return the names of a classifier's scores, in order; () where the folder names none, or not all."""
    named = settings.get("id2label")
    if not isinstance(named, Mapping):
        return ()
    labels = [named.get(str(number)) for number in range(len(named))]
    return tuple(map(str, labels)) if all(isinstance(label, str) for label in labels) else ()


def read_problem_type(settings: Settings) -> str | None:
    """Return the kind of a classifier's scores; None where the folder names none that stock classes know."""
    named = settings.get("problem_type")
    return named if named in PROBLEM_TYPES else None


def config_record(
    config: EncoderConfig,
    family: Family,
    architecture: str,
    *,
    tokens: Mapping[str, int | None] | None = None,
    num_labels: int | None = None,
    labels: Sequence[str] = (),
    problem_type: str | None = None,
    form: SequenceForm | None = None,
) -> JsonObject:
    """Return the content of `config.json` for the class `architecture`, stock keys only.

    tokens: `pad_token_id` and the like, where a tokenizer says them. num_labels: scores of the class's classifier,
    named by `labels` where these are given. problem_type: the kind of these scores, as stock classes know it. form:
    that of the class's head, where it reads whole sequences.
    """
    tokens = tokens or {}
    activation = next(theirs for theirs, ours in family.activations.items() if ours == config.activation)
    record = {
        "architectures": [architecture],
        "model_type": family.model_type,
        family.activation_key: activation,
        "dtype": "float32",
        "tie_word_embeddings": True,
        **tokens,
        **{theirs: getattr(config, ours) for ours, theirs in family.settings.items()},
        **family.write_settings(config, tokens.get("pad_token_id")),
        **family.architectures[architecture].settings,
        **(family.form_settings.get(form, {}) if form is not None else {}),
    }
    if num_labels is not None:
        record |= labels_record(list(labels) or [f"LABEL_{number}" for number in range(num_labels)], problem_type)
    return record


def labels_record(labels: Sequence[str], problem_type: str | None) -> JsonObject:
    """Return what `config.json` says of a classifier's scores; nothing where they have no names."""
    if not labels:
        return {}
    named: JsonObject = {"id2label": {str(number): name for number, name in enumerate(labels)}}
    named["label2id"] = {name: number for number, name in enumerate(labels)}
    return named | ({} if problem_type is None else {"problem_type": problem_type})


def lost_values(config: EncoderConfig, settings: Settings, path: Path) -> JsonObject:
    """Return our values that `settings`, written for `config`, do not say; spanwise.json keeps them."""
    again = encoder_config(settings, path)
    names = [field.name for field in fields(EncoderConfig) if field.name != "pooler"]
    return {name: getattr(config, name) for name in names if getattr(config, name) != getattr(again, name)}
