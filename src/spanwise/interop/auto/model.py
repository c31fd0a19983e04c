"""Encoders of every other kind, run by the `transformers` library behind our packed call (nn/padded_encoder.py).

This is the only file here that imports `transformers`, and it does so when such a folder is read: an extra of this
package (`pip install 'spanwise[transformers]'`). Families that this package computes itself never come here.
Code that a folder brings along is not run (`auto_map` has no effect).
"""

import contextlib
import inspect
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.architectures import Choice
from spanwise.interop.family import Architecture, EncoderLines, Family
from spanwise.interop.key_map import Line
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.interop.tables.bert import ACTIVATIONS
from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import SequenceForm
from spanwise.nn.padded_encoder import PaddedEncoder
from spanwise.runtime.suggest import did_you_mean

IGNORED = ("auto_map", "quantization_config", "torch_dtype", "dtype")  # settings that would change what is loaded
HIDDEN_DROPOUTS = ("hidden_dropout_prob", "dropout", "hidden_dropout")  # the first that a model has counts
ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
FORM: SequenceForm = "tanh"  # of our heads that read whole sequences on such an encoder: no pooler is needed
SHORT = 512  # positions of a model that names no number


@dataclass(frozen=True)
class LoadedBody:
    """A model of transformers without its heads, and the names in its files that it has no place for."""

    body: nn.Module
    unexpected: tuple[str, ...]


def is_other_kind(settings: Mapping[str, Any]) -> bool:
    """Return whether the content of config.json names a model type that this package does not compute itself."""
    return isinstance(settings.get("model_type"), str) and settings["model_type"] not in BY_MODEL_TYPE


def load_body(folder: Path, settings: Mapping[str, Any], stored: Collection[str]) -> LoadedBody:
    """Load the encoder of a folder with all its weights; `stored` has the names of the tensors in its files.

    Raises: CheckpointError where transformers is not installed or can't load the folder, where tensors are missing, and
    for a model that is no encoder.
    """
    transformers = _transformers(folder, settings)
    config = _their_config(transformers, folder, settings)
    options = _options(transformers, config, stored)
    try:
        with _quiet(transformers):
            body, info = transformers.AutoModel.from_pretrained(
                folder, config=config, dtype=torch.float32, output_loading_info=True, local_files_only=True, **options
            )
    except Exception as error:  # whatever a damaged or unusual folder makes their loader raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CheckpointError(
            f"{folder}: transformers can't load this {settings['model_type']} model: {reason}"
        ) from error
    lacking = sorted({*info["missing_keys"], *(key[0] for key in info["mismatched_keys"])})
    if lacking:
        raise CheckpointError(
            f"{folder} lacks {len(lacking)} tensors of {type(body).__name__}, such as {lacking[0]!r}."
        )
    _check_encoder(body.eval(), folder)
    return LoadedBody(body, tuple(sorted(info["unexpected_keys"])))


def padded_encoder(
    folder: Path, settings: Mapping[str, Any], config: EncoderConfig, stored: Collection[str]
) -> PaddedEncoder:
    """Make an encoder of the kind that `settings` names, its weights yet to be set; `config` may have other dropout
    rates, more vocabulary and more token types than `settings`. `stored` has the names of the tensors that will fill
    it."""
    transformers = _transformers(folder, settings)
    changed: dict[str, Any] = {"vocab_size": config.vocab_size}
    if config.num_token_types:  # as read off their `type_vocab_size`, or more of them
        changed["type_vocab_size"] = config.num_token_types
    for names, rate in ((HIDDEN_DROPOUTS, config.hidden_dropout), (ATTENTION_DROPOUTS, config.attention_dropout)):
        changed |= {name: rate for name in names if name in settings}
    theirs = _their_config(transformers, folder, {**settings, **changed})
    with torch.random.fork_rng(devices=[]), _quiet(transformers):
        body = transformers.AutoModel.from_config(theirs, **_options(transformers, theirs, stored))
    return wrapped(body, config)


def wrapped(body: nn.Module, config: EncoderConfig | None = None) -> PaddedEncoder:
    """Wrap a model of transformers; `config` None is read off it."""
    theirs: Any = body.config
    config = config or _our_config(body, theirs)
    return PaddedEncoder(
        config,
        body,
        pad_id=theirs.pad_token_id or 0,
        has_token_types=config.num_token_types > 0,
        is_padded=_ignores_filler(body),
    )


@torch.no_grad()
def _ignores_filler(body: nn.Module) -> bool:
    """Return whether what stands behind a sequence, outside its mask, leaves its hidden states as they are.

    Convolutions and pooling over tokens (ConvBERT, MobileBERT, Funnel) read it.
    """
    ids, mask = torch.tensor([[5, 6, 7, 8, 9, 9, 9, 9]]), torch.tensor([[1, 1, 1, 1, 0, 0, 0, 0]])
    was_training = body.training
    body.eval()
    alone, beside = (
        body(input_ids=ids[:, :length], attention_mask=mask[:, :length]).last_hidden_state[:, :4] for length in (4, 8)
    )
    body.train(was_training)
    return torch.allclose(alone, beside, rtol=1e-4, atol=1e-5)


def choice_for(encoder: PaddedEncoder) -> Choice:
    """Return class and family to write an encoder as: those that it came from."""
    body: Any = encoder.body
    name = type(body).__name__
    theirs = {parameter: name for name, parameter in body.named_parameters()}
    lines = tuple(Line(ours, theirs[parameter]) for ours, parameter in encoder.named_parameters())
    family = Family(
        model_type=body.config.model_type,
        label=name,
        settings={},
        defaults={},
        activations={},
        encoder=lambda config, settings: EncoderLines(lines=lines),
        heads={},
        root="",
        bare=(),
        architectures={name: Architecture(kind="encoder", auto="AutoModel")},
        forms={"classification": FORM, "multiple_choice": FORM},
    )
    return Choice(family=family, name=name)


def settings_of(encoder: PaddedEncoder) -> dict[str, Any]:
    """Return the content of config.json for an encoder."""
    body: Any = encoder.body
    return {**json.loads(body.config.to_json_string()), "architectures": [type(body).__name__]}


def _transformers(folder: Path, settings: Mapping[str, Any]) -> ModuleType:
    try:
        import transformers
    except ImportError as error:
        known = ", ".join(BY_MODEL_TYPE)
        raise CheckpointError(
            f"{folder} says model_type {settings['model_type']!r}; this package itself computes {known}. Any other "
            "encoder runs, more slowly, through the library transformers, which is not installed: "
            "pip install 'spanwise[transformers]'."
        ) from error
    return transformers


def _options(transformers: ModuleType, config: Any, stored: Collection[str]) -> dict[str, bool]:
    """Return what to make a model with: a pooler only where the files have one, for classes that can do without."""
    model_class = transformers.AutoModel._model_mapping.get(type(config), None)
    if model_class is None or "add_pooling_layer" not in inspect.signature(model_class.__init__).parameters:
        return {}
    return {"add_pooling_layer": any("pooler." in name for name in stored)}


def _their_config(transformers: ModuleType, folder: Path, settings: Mapping[str, Any]) -> Any:
    model_type = settings["model_type"]
    known = transformers.CONFIG_MAPPING
    if model_type not in known:
        raise CheckpointError(
            f"{folder / 'config.json'} says model_type {model_type!r}; this package computes "
            f"{', '.join(BY_MODEL_TYPE)}, and transformers {transformers.__version__} does not know it either."
            f"{did_you_mean(str(model_type), [*BY_MODEL_TYPE, *known.keys()])}"
        )
    kept = {name: value for name, value in settings.items() if name not in IGNORED}
    try:
        return known[model_type].from_dict(kept)
    except Exception as error:  # their settings classes raise many kinds
        raise CheckpointError(f"{folder / 'config.json'}: {error}") from error


@contextlib.contextmanager
def _quiet(transformers: ModuleType) -> Iterator[None]:
    """Keep reports and progress bars of transformers off the screen; what matters is said by our own report."""
    logging = transformers.utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


@torch.no_grad()
def _check_encoder(body: nn.Module, folder: Path) -> None:
    """Refuse a model that does not give one vector per token, or whose tokens do not see what follows them."""
    first, other, why = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 9]]), ""
    try:
        is_table = isinstance(getattr(body.get_input_embeddings(), "weight", None), nn.Parameter)  # type: ignore[operator]
        found = [body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state for ids in (first, other)]
        is_encoder = found[0].shape[:2] == (1, 4) and not torch.equal(found[0][0, :3], found[1][0, :3])
    except Exception as error:  # an encoder-decoder asks for more inputs, a model of images for others
        is_encoder, is_table = False, True
        why = f" (given four tokens it fails: {(str(error).splitlines() or [type(error).__name__])[0]})"
    if not is_encoder:
        raise CheckpointError(
            f"{folder}: {type(body).__name__} is no encoder of texts whose tokens see both sides{why}; of causal "
            "models, GPT-1 is read."
        )
    if not is_table:
        raise CheckpointError(f"{folder}: {type(body).__name__} has no table of words, which tasks and heads need.")


def _our_config(body: nn.Module, theirs: Any) -> EncoderConfig:
    """Describe a model of transformers as far as heads, tasks and reports ask."""
    table: Any = body.get_input_embeddings()  # type: ignore[operator]
    size = theirs.hidden_size
    takes_types = "token_type_ids" in inspect.signature(body.forward).parameters
    try:
        return EncoderConfig(
            vocab_size=table.weight.shape[0],
            hidden_size=size,
            num_layers=theirs.num_hidden_layers,
            num_heads=theirs.num_attention_heads,
            intermediate_size=_first(theirs, ("intermediate_size", "hidden_dim", "ffn_dim"), 4 * size),
            max_positions=_num_positions(body, theirs),
            num_token_types=(getattr(theirs, "type_vocab_size", 0) or 0) if takes_types else 0,
            activation=ACTIVATIONS.get(activation_name(body), "gelu"),
            norm_eps=_first(theirs, ("layer_norm_eps", "layernorm_eps", "norm_eps"), 1e-12),
            hidden_dropout=_first(theirs, HIDDEN_DROPOUTS, 0.0),
            attention_dropout=_first(theirs, ATTENTION_DROPOUTS, 0.0),
            initializer_range=_first(theirs, ("initializer_range", "init_std"), 0.02),
            embedding_size=table.weight.shape[1] if table.weight.shape[1] != size else None,
        )
    except (ConfigError, AttributeError, TypeError) as error:
        raise CheckpointError(f"{type(body).__name__} does not say its shape as encoders do: {error}") from error


def activation_name(body: nn.Module) -> str:
    """Return what a model of transformers calls the activation of its layers."""
    return str(_first(body.config, ("hidden_act", "activation"), "gelu"))


def _first(theirs: Any, names: tuple[str, ...], usual: Any) -> Any:
    return next((value for name in names if (value := getattr(theirs, name, None)) is not None), usual)


def _num_positions(body: nn.Module, theirs: Any) -> int:
    """Return how many positions there are; models after RoBERTa have rows before the first."""
    for name, part in body.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, nn.Embedding) and part.padding_idx is not None:
            return part.num_embeddings - part.padding_idx - 1
    rows = getattr(theirs, "max_position_embeddings", None)
    return rows if rows and rows > 0 else SHORT
