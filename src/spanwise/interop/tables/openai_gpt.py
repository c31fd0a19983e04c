"""GPT-1 in Hugging Face folders: a causal encoder without token types and without norm on its embeddings.

Files hold its products as rows of inputs (`Conv1D`), so every matrix is transposed; queries, keys and values are one
tensor there as here. `afn = "gelu"` is the tanh approximation, and the feed-forward network is always four times as
wide as the layers.

Source: Hugging Face `OpenAIGPTLMHeadModel` and the other `OpenAIGPT...` classes.
"""

from spanwise.errors import ConfigError
from spanwise.interop.family import Architecture, EncoderLines, Family
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import LayerPart, Line, layer_lines, linear
from spanwise.nn.config import EncoderConfig

LAYER = (
    LayerPart("attention.qkv", ("attn.c_attn",), transposed=True),
    LayerPart("attention.output", ("attn.c_proj",), transposed=True),
    LayerPart("attention.residual.norm", ("ln_1",)),
    LayerPart("feed_forward.up", ("mlp.c_fc",), transposed=True),
    LayerPart("feed_forward.down", ("mlp.c_proj",), transposed=True),
    LayerPart("feed_forward.residual.norm", ("ln_2",)),
)
WIDENING = 4  # feed-forward over hidden size


def read_settings(settings: Settings) -> JsonObject:
    dropouts = {key: settings.get(key, 0.1) for key in ("embd_pdrop", "resid_pdrop")}
    if len(set(dropouts.values())) > 1:
        raise ConfigError(f"{dropouts}: only one rate for both is supported.")
    return {"intermediate_size": WIDENING * settings["n_embd"]}


def encoder(config: EncoderConfig, settings: Settings) -> EncoderLines:
    """Return the names of an encoder of this shape."""
    layers, repeats = layer_lines(config, LAYER, lambda i: f"transformer.h.{i}")
    return EncoderLines(
        lines=(
            Line("embeddings.word.weight", "transformer.tokens_embed.weight"),
            Line("embeddings.position.weight", "transformer.positions_embed.weight"),
            *layers,
        ),
        repeats=repeats,
        buffers=frozenset({"transformer.position_ids"})
        | {f"transformer.h.{i}.attn.bias" for i in range(config.num_layers)},
    )


def misfit(config: EncoderConfig, pad_id: int | None) -> str | None:
    if config.intermediate_size != WIDENING * config.hidden_size:
        return f"intermediate_size = {config.intermediate_size} beside hidden_size = {config.hidden_size}"
    return None


OPENAI_GPT = Family(
    model_type="openai-gpt",
    label="GPT-1",
    settings={
        "vocab_size": "vocab_size",
        "hidden_size": "n_embd",
        "num_layers": "n_layer",
        "num_heads": "n_head",
        "max_positions": "n_positions",
        "norm_eps": "layer_norm_epsilon",
        "hidden_dropout": "resid_pdrop",
        "attention_dropout": "attn_pdrop",
        "initializer_range": "initializer_range",
    },
    defaults={
        "max_positions": 512,
        "norm_eps": 1e-5,
        "hidden_dropout": 0.1,
        "attention_dropout": 0.1,
        "initializer_range": 0.02,
    },
    constants={"causal": True, "embedding_norm": False, "num_token_types": 0},
    computes=frozenset({"activation", "sharing", "intermediate_size"}),
    activation_key="afn",
    activations={"gelu": "gelu_tanh"},
    read_settings=read_settings,
    write_settings=lambda config, pad_id: {"embd_pdrop": config.hidden_dropout},
    misfit=misfit,
    encoder=encoder,
    heads={
        "clm": (),  # the word table itself
        "classification": (Line("out.weight", "score.weight"),),
        "multiple_choice": linear("out", "multiple_choice_head.summary"),
    },
    copies={"lm_head.weight": "transformer.tokens_embed.weight"},
    root="transformer.",
    bare=("tokens_embed.", "positions_embed.", "h.", "position_ids"),
    architectures={
        "OpenAIGPTForSequenceClassification": Architecture(
            kind="task",
            heads=("classification",),
            auto="AutoModelForSequenceClassification",
            pipeline="text-classification",
        ),
        "OpenAIGPTDoubleHeadsModel": Architecture(
            kind="task",
            heads=("clm", "multiple_choice"),
            settings={
                "summary_type": "cls_index",
                "summary_use_proj": True,
                "summary_activation": None,
                "summary_proj_to_labels": True,
            },
        ),
        "OpenAIGPTLMHeadModel": Architecture(
            kind="language_model", heads=("clm",), auto="AutoModelForCausalLM", pipeline="text-generation"
        ),
        "OpenAIGPTModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "last", "multiple_choice": "last_biased"},
)
