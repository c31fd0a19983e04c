"""RoBERTa in Hugging Face folders: BERT's layers, positions counted from the padding id, heads of its own.

`max_position_embeddings` counts rows: the first `pad_token_id + 1` of them belong to no position, so 514 rows are 512
positions.

Source: Hugging Face `RobertaForMaskedLM` and the other `Roberta...` classes.
"""

from spanwise.errors import ConfigError
from spanwise.interop.family import Family, usual_classes
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import Line, linear
from spanwise.interop.tables import bert
from spanwise.nn.config import EncoderConfig

PAD_ID = 1  # of RoBERTa's vocabulary, and what its class takes where the setting is absent


def read_settings(settings: Settings) -> JsonObject:
    pad_id = settings.get("pad_token_id", PAD_ID)
    if isinstance(pad_id, bool) or not isinstance(pad_id, int) or pad_id < 0:
        raise ConfigError(f"pad_token_id = {pad_id!r}; positions are counted from it, so an id was expected.")
    rows = settings.get("max_position_embeddings", 512)
    return {
        "position_offset": pad_id + 1,
        "max_positions": rows - (pad_id + 1),
        "causal": bool(settings.get("is_decoder", False)),
    }


def write_settings(config: EncoderConfig, pad_id: int | None) -> JsonObject:
    return {
        "max_position_embeddings": config.max_positions + config.position_offset,
        "pad_token_id": config.position_offset - 1,
        **bert.stock_settings(config),
    }


def misfit(config: EncoderConfig, pad_id: int | None) -> str | None:
    if config.position_offset == 0 or pad_id not in (None, config.position_offset - 1):
        return f"position_offset = {config.position_offset} beside a padding id of {pad_id}"
    return None


ROBERTA = Family(
    model_type="roberta",
    label="RoBERTa",
    settings={ours: theirs for ours, theirs in bert.SETTINGS.items() if ours != "max_positions"},
    defaults=bert.DEFAULTS,
    computes=frozenset({"activation", "pooler", "causal", "sharing", "max_positions", "position_offset"}),
    activations=bert.ACTIVATIONS,
    only=bert.ONLY,
    read_settings=read_settings,
    write_settings=write_settings,
    misfit=misfit,
    encoder=lambda config, settings: bert.encoder_lines(config, "roberta."),
    pooler=linear("pooler.dense", "roberta.pooler.dense"),
    heads={
        "mlm": (Line("bias", "lm_head.bias"), *linear("dense", "lm_head.dense"), *linear("norm", "lm_head.layer_norm")),
        **bert.TASK_HEADS,
        "classification": (*linear("dense", "classifier.dense"), *linear("out", "classifier.out_proj")),
    },
    copies={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    root="roberta.",
    bare=("embeddings.", "encoder.", "pooler."),
    architectures=usual_classes("Roberta", pooled=("multiple_choice",), only_gelu=True),
    forms={"classification": "tanh", "multiple_choice": "pooled"},
    names_borders=True,
)
