"""ModernBERT, and with it Ettin and mmBERT, in Hugging Face folders: pre-norm, rotary positions, gates, local layers.

`config.json` comes in two generations: published folders say `global_attn_every_n_layers`, `global_rope_theta` and
`local_rope_theta`, newer ones `layer_types` and `rope_parameters`. Both are read, and both are written.

Differs: `mlp_dropout` is our hidden_dropout, which drops what a sub-layer adds and not what is inside; it is 0 in every
published folder.

Source: Hugging Face `ModernBertModel` and its heads; Warner et al. 2024 (ModernBERT).
"""

from spanwise.errors import ConfigError
from spanwise.interop.family import EncoderLines, Family, usual_classes
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import LayerPart, Line, layer_lines, linear
from spanwise.interop.tables import bert
from spanwise.nn.config import EncoderConfig

LAYER = (
    LayerPart("attention.qkv", ("attn.Wqkv",)),
    LayerPart("attention.output", ("attn.Wo",)),
    LayerPart("attention.residual.norm", ("attn_norm",)),
    LayerPart("feed_forward.up", ("mlp.Wi",)),
    LayerPart("feed_forward.down", ("mlp.Wo",)),
    LayerPart("feed_forward.residual.norm", ("mlp_norm",)),
)
BIASES = {  # our field -> their key
    "attention_bias": "attention_bias",
    "feed_forward_bias": "mlp_bias",
    "norm_bias": "norm_bias",
    "head_bias": "classifier_bias",
}
GLOBAL, LOCAL = "full_attention", "sliding_attention"
GLOBAL_BASE, LOCAL_BASE, WINDOW, EVERY = 160_000.0, 10_000.0, 128, 3  # where config.json says nothing
TRANSFORM = (*linear("dense", "head.dense"), *linear("norm", "head.norm"))
OF_TOKENS = (*linear("transform.dense", "head.dense"), *linear("transform.norm", "head.norm"))


def read_settings(settings: Settings) -> JsonObject:
    values: JsonObject = {}
    for ours, theirs in BIASES.items():
        values[ours] = settings.get(theirs, False)
        if not isinstance(values[ours], bool):
            raise ConfigError(f"{theirs} = {values[ours]!r}; true or false was expected.")
    every = _global_every(settings)
    is_local = every > 1 and settings["num_hidden_layers"] > 1
    base, local_base = _base(settings, GLOBAL, "global_rope_theta", GLOBAL_BASE), None
    if is_local:
        local_base = _base(settings, LOCAL, "local_rope_theta", LOCAL_BASE)
    dropout, inner_dropout = settings.get("embedding_dropout", 0.0), settings.get("mlp_dropout", 0.0)
    return values | {
        "rotary_base": base,
        "local_rotary_base": None if local_base in (None, base) else local_base,
        "local_window": _local_window(settings) if is_local else None,
        "global_every": every if is_local else EVERY,
        "embedding_dropout": None if dropout == inner_dropout else dropout,
    }


def _global_every(settings: Settings) -> int:
    """Return of how many layers the first one is global. Raises: ConfigError for another order."""
    every, kinds = settings.get("global_attn_every_n_layers", EVERY), settings.get("layer_types")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ConfigError(f"global_attn_every_n_layers = {every!r}; a number of at least 1 was expected.")
    if kinds is None or settings["num_hidden_layers"] < 1:  # which is refused for what it is
        return every
    for number in (every, *range(1, len(kinds) + 1)):
        if kinds == _layer_types(number, settings["num_hidden_layers"]):
            return number
    raise ConfigError(f"layer_types = {kinds!r}; supported is one {GLOBAL!r} at the beginning of every n layers.")


def _layer_types(every: int, num_layers: int) -> list[str]:
    return [LOCAL if layer % every else GLOBAL for layer in range(num_layers)]


def _local_window(settings: Settings) -> int:
    """Return the tokens to each side that a local layer sees. `sliding_window` says the same and counts before it."""
    stated = settings.get("sliding_window")
    return settings.get("local_attention", WINDOW) // 2 if stated is None else stated


def _base(settings: Settings, kind: str, key: str, default: float) -> float:
    """The base of the rotary positions of one kind of layers. Raises: ConfigError for another kind of positions."""
    stated = (settings.get("rope_parameters") or {}).get(kind) or {}
    rope_type = stated.get("rope_type", stated.get("type", "default"))  # older files say `type`
    if rope_type != "default":
        raise ConfigError(f"rope_type = {rope_type!r}; only 'default' is supported.")
    fallback = settings.get("global_rope_theta") if kind == LOCAL and key in settings else None
    base = stated.get("rope_theta") or settings.get(key) or fallback or default
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise ConfigError(f"{key} = {base!r}; a number was expected.")
    return float(base)


def write_settings(config: EncoderConfig, pad_id: int | None) -> JsonObject:
    every = config.global_every if config.local_window is not None else 1
    local_base = config.local_rotary_base or config.rotary_base
    bases = {GLOBAL: config.rotary_base, LOCAL: local_base}
    no_tokens = ("pad_token_id", "bos_token_id", "eos_token_id") if pad_id is None else ()
    return {
        **{theirs: getattr(config, ours) for ours, theirs in BIASES.items()},
        "layer_types": _layer_types(every, config.num_layers),
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": base} for kind, base in bases.items()},
        "global_attn_every_n_layers": every,
        "global_rope_theta": config.rotary_base,
        "local_rope_theta": local_base,
        "local_attention": WINDOW if config.local_window is None else 2 * config.local_window,
        "embedding_dropout": config.hidden_dropout if config.embedding_dropout is None else config.embedding_dropout,
        "classifier_dropout": config.hidden_dropout,
        "classifier_pooling": "cls",
        # without these keys the class takes ids of its own vocabulary, which this one may not have
        **dict.fromkeys((*no_tokens, "cls_token_id", "sep_token_id")),
    }


def misfit(config: EncoderConfig, pad_id: int | None) -> str | None:
    return "positions in a table" if config.rotary_base is None else None


def encoder(config: EncoderConfig, settings: Settings) -> EncoderLines:
    layers, repeats = layer_lines(config, LAYER, lambda i: f"model.layers.{i}")
    return EncoderLines(
        lines=(
            Line("embeddings.word.weight", "model.embeddings.tok_embeddings.weight"),
            *linear("embeddings.norm", "model.embeddings.norm"),
            *layers,
            *linear("final_norm", "model.final_norm"),
        ),
        repeats=repeats,
    )


def has_tensor(config: EncoderConfig, ours: str) -> bool:
    """Return whether products and norms have the bias `ours`; the first layer has no norm before its attention."""
    if ours.startswith("layers.0.attention.residual."):
        return False
    if not ours.endswith(".bias") or ours in ("out.bias", "linear.bias"):
        return True
    if "norm." in ours:
        return config.norm_bias
    if ours.startswith("layers."):
        return config.attention_bias if ".attention." in ours else config.feed_forward_bias
    return config.head_bias


MODERNBERT = Family(
    model_type="modernbert",
    label="ModernBERT",
    settings={ours: theirs for ours, theirs in bert.SETTINGS.items() if ours not in ("num_token_types", "norm_eps")}
    | {"norm_eps": "norm_eps", "hidden_dropout": "mlp_dropout", "attention_dropout": "attention_dropout"},
    defaults={
        "max_positions": 8192,
        "norm_eps": 1e-5,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
    },
    constants={"num_token_types": 0, "norm_place": "pre", "gated": True},
    computes=frozenset(
        {
            "activation",
            "pooler",
            "embedding_dropout",
            "rotary_base",
            "local_rotary_base",
            "local_window",
            "global_every",
        }
        | BIASES.keys()
    ),
    activation_key="hidden_activation",
    activations={**bert.ACTIVATIONS, "silu": "silu", "swish": "silu"},
    only={"decoder_bias": True, "classifier_activation": "gelu", "rope_scaling": None, "tie_word_embeddings": True},
    read_settings=read_settings,
    write_settings=write_settings,
    misfit=misfit,
    encoder=encoder,
    heads={
        "mlm": (Line("bias", "decoder.bias"), *TRANSFORM),
        "qa": (*OF_TOKENS, *linear("linear", "classifier")),
        "classification": (*TRANSFORM, *linear("out", "classifier")),
        "tagging": (*OF_TOKENS, *linear("out", "classifier")),
        "multiple_choice": (*TRANSFORM, *linear("out", "classifier")),
    },
    has_tensor=has_tensor,
    copies={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
    root="model.",
    bare=("embeddings.", "layers.", "final_norm."),
    optional_prefixes=("module.",),
    architectures=usual_classes("ModernBert", pooled=()),
    forms={"classification": "normed", "multiple_choice": "normed"},
    form_settings={"normed_mean": {"classifier_pooling": "mean"}},
    names_borders=True,
)
