"""Read the folder of an encoder that `transformers` runs: its weights, and the heads that all models compute alike.

Heads of ours lie in heads.safetensors. Of the classes of transformers three heads are read: of questions, of labels of
tokens, and of hidden words where the table of words is tied; what the others compute differs from model to model.
"""

import functools
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spanwise.interop.auto.model import activation_name, load_body, wrapped
from spanwise.interop.checkpoint import Checkpoint, LoadReport, real_tensors
from spanwise.interop.folder_plan import as_float32
from spanwise.interop.head_files import own_names
from spanwise.interop.heads import make_head, size_of, whole_heads
from spanwise.interop.model_config import named_class, read_labels, read_problem_type
from spanwise.interop.record import notes_of_edits, read_record
from spanwise.interop.tables.bert import ACTIVATIONS
from spanwise.interop.tensor_files import read_weights
from spanwise.nn.padded_encoder import PaddedEncoder
from spanwise.runtime.outline import outline

logger = logging.getLogger(__name__)

# how a class ends -> the head, and the names of its parts: ours -> theirs, the first of several ways that is there
THEIR_HEADS: dict[str, tuple[str, tuple[dict[str, str], ...]]] = {
    "ForQuestionAnswering": ("qa", ({"linear.": "qa_outputs."},)),
    "ForTokenClassification": ("tagging", ({"out.": "classifier."},)),
    "ForMaskedLM": (
        "mlm",
        (
            {
                "dense.": "cls.predictions.transform.dense.",
                "norm.": "cls.predictions.transform.LayerNorm.",
                "bias": "cls.predictions.bias",
            },
            {"dense.": "lm_head.dense.", "norm.": "lm_head.layer_norm.", "bias": "lm_head.bias"},
            {
                "dense.": "lm_predictions.lm_head.dense.",
                "norm.": "lm_predictions.lm_head.LayerNorm.",
                "bias": "lm_predictions.lm_head.bias",
            },
            {"dense.": "vocab_transform.", "norm.": "vocab_layer_norm.", "bias": "vocab_projector.bias"},
        ),
    ),
}
OF_GELU = "lm_head."  # heads of RoBERTa's kind have the error-function GELU, whatever the layers have
SEES_MORE = ("LongformerForQuestionAnswering",)  # the question's tokens see everything there, unlike in the bare model
DECODERS = ("cls.predictions.decoder.weight", "lm_head.decoder.weight", "vocab_projector.weight")


def read_auto_folder(folder: Path, settings: Mapping[str, Any], *, has_tokenizer: bool) -> Checkpoint:
    """Read a folder whose config.json has the content `settings`.

    Raises: CheckpointError for a folder that is damaged, that transformers can't load, or that holds no encoder.
    """
    record = read_record(folder)
    stored = read_weights(folder)
    own, others = own_names(stored, record.get("heads", {}))
    loaded = load_body(folder, settings, others)
    encoder = wrapped(loaded.body)
    source_class = named_class(settings) or type(loaded.body).__name__
    theirs, used = _their_heads(source_class, others, encoder)
    _say_once(type(loaded.body).__name__)
    return Checkpoint(
        folder=folder,
        config=encoder.config,
        tensors=real_tensors(encoder, encoder.config.vocab_size),
        heads=whole_heads({**theirs, **{head: as_float32(tensors) for head, tensors in own.items()}}),
        source_class=source_class,
        tokenizer_folder=folder if has_tokenizer else None,
        report=LoadReport(
            unexpected=tuple(name for name in loaded.unexpected if name not in used), notes=notes_of_edits(folder)
        ),
        model_type=settings["model_type"],
        labels=read_labels(settings),
        problem_type=read_problem_type(settings),
        record=record,
        their_settings=dict(settings),
    )


@functools.cache
def _say_once(name: str) -> None:
    logger.warning("%s runs through transformers, in padded rows: slower than a family computed here.", name)


def _their_heads(
    source_class: str, tensors: Mapping[str, Tensor], encoder: PaddedEncoder
) -> tuple[dict[str, dict[str, Tensor]], set[str]]:
    """Return the head of the class that the folder names, in our names, and which names in the files it has used."""
    for ending, (head, ways) in THEIR_HEADS.items():
        if not source_class.endswith(ending) or source_class in SEES_MORE or _is_untied(tensors, encoder):
            continue
        for way in ways:
            if head == "mlm" and not _has_activation(way, encoder):
                continue
            names = {
                ours + (name.removeprefix(theirs) if ours.endswith(".") else ""): name
                for ours, theirs in way.items()
                for name in tensors
                if name == theirs or (ours.endswith(".") and name.startswith(theirs))
            }
            found = as_float32({ours: tensors[name] for ours, name in names.items()})
            if found and _fits(head, found, encoder):
                return {head: found}, {
                    *names.values(),
                    *DECODERS,
                    "cls.predictions.decoder.bias",
                    "lm_head.decoder.bias",
                }
    return {}, set()


def _has_activation(way: Mapping[str, str], encoder: PaddedEncoder) -> bool:
    """Return whether the masked-LM head that lies under these names has the activation that our head would have."""
    if any(theirs.startswith(OF_GELU) for theirs in way.values()):
        return encoder.config.activation == "gelu"
    return activation_name(encoder.body) in ACTIVATIONS


def _is_untied(tensors: Mapping[str, Tensor], encoder: PaddedEncoder) -> bool:
    words = encoder.word_embedding.detach()
    return any(name in tensors and not torch.equal(tensors[name].to(words.dtype), words) for name in DECODERS)


def _fits(head: str, tensors: Mapping[str, Tensor], encoder: PaddedEncoder) -> bool:
    with outline():
        made = make_head(head, encoder, size_of(head, tensors))
    shapes = {
        name: parameter.shape for name, parameter in made.named_parameters() if parameter is not encoder.word_embedding
    }
    return {name: tensor.shape for name, tensor in tensors.items()} == shapes
