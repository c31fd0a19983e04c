"""Masked-LM and span-boundary losses on top of someone else's encoder, for someone else's training loop.

```python
model = SpanBoundaryPretraining(AutoModel.from_pretrained("bert-base-cased"))
Trainer(model=model, data_collator=SpanMaskingCollator(tokenizer), ...).train()
model.save_pretrained("run/final", tokenizer)
```

What it saves is the encoder's own folder with the heads beside it, in our own names (`sbo.linear1.weight`), which
serve encoders of every family:

    config.json, model.safetensors    what encoder.save_pretrained writes: AutoModel loads it with nothing missing
    heads.safetensors                 the masked-LM and span-boundary heads, as spanwise.load and pipelines read them
    spanwise.json                     what the folder is: options of the heads, SHA-256 of both weight files, and what
                                      the weights learned from: the list of the folder before, and your text

Letters: B examples, L padded length, D hidden size, N hidden tokens.
Source: Joshi et al. 2020 (SpanBERT), section 3.2.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.integrations.huggingface.heads import (
    IGNORED,
    Combine,
    SpanBoundaryHead,
    TiedMaskedLMHead,
    find_boundaries,
    places_of,
    word_table,
)
from spanwise.interop.auto.model import is_other_kind
from spanwise.interop.checkpoint import fill
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import JsonObject, read_json_object
from spanwise.interop.model_config import encoder_config
from spanwise.interop.record import RECORD, read_entries, read_record, write_record
from spanwise.interop.sources import find_folder
from spanwise.interop.tensor_files import HEADS, read_safetensors, write_safetensors
from spanwise.runtime.disk import DISK
from spanwise.weights.learned_from import LEARNED_FROM, NOT_STATED, Learned, as_record, learned_by

logger = logging.getLogger(__name__)

OPTIONS = "pretraining_options"  # of SpanBoundaryPretraining, in spanwise.json
SUM = "sbo_sum"  # a head that adds its inputs has shapes that no other reader knows


def write_heads(
    folder: Path,
    encoder: object,
    heads: Mapping[str, nn.Module],
    options: Mapping[str, object],
    learned: Sequence[Learned],
) -> None:
    """Write the encoder, heads by name ("mlm", "sbo", "sbo_sum") and the record into a folder; `learned` is what the
    weights learned from.

    Raises: ConfigError for an encoder that can't save itself.
    """
    if not hasattr(encoder, "save_pretrained"):
        raise ConfigError(
            f"{type(encoder).__name__} has no save_pretrained(); save model.state_dict() with torch or safetensors."
        )
    DISK.make_folders(folder)
    DISK.write_by_name(folder, encoder.save_pretrained)
    tensors: dict[str, Tensor] = {}
    for name, head in heads.items():
        own = {f"{name}.{ours}": tensor.detach().to("cpu", torch.float32) for ours, tensor in head.state_dict().items()}
        tensors |= {ours: tensor.contiguous() for ours, tensor in own.items()}
    write_safetensors(tensors, folder / HEADS)
    content = {"architecture": type(encoder).__name__, "heads": dict.fromkeys(sorted(heads), HEADS)}
    write_record(folder, {**content, OPTIONS: dict(options), LEARNED_FROM: as_record(learned)})


def read_options(folder: Path, record: JsonObject) -> dict[str, Any]:
    """Return the options that a folder was saved with, by its record; {} for a folder of others."""
    options = record.get(OPTIONS, {})
    if not isinstance(options, dict):
        raise CheckpointError(f"{folder / RECORD}: {OPTIONS!r} must be an object; write the folder again.")
    return options


def read_heads(folder: Path) -> dict[str, dict[str, Tensor]]:
    """Return the heads of a folder by name, in our names: ours, or those of a class that is read here.

    Raises: CheckpointError for damaged files.
    """
    heads = _heads_of_class(folder)
    if (folder / HEADS).exists():
        read_record(folder)  # compares the files with their hashes
        for name, tensor in read_safetensors(folder / HEADS).items():
            head, _, rest = name.partition(".")
            if head in ("mlm", "sbo", SUM):
                heads.setdefault(head, {})[rest] = tensor
    return heads


def _heads_of_class(folder: Path) -> dict[str, dict[str, Tensor]]:
    path = folder / "config.json"
    settings = read_json_object(path)
    try:
        if is_other_kind(settings):
            return dict(read_folder(folder).heads)
        encoder_config(settings, path)
    except CheckpointError:  # what tasks could not take (GPT-2, an unusual shape); our heads may still lie beside it
        return {}
    return dict(read_folder(folder).heads)


def fill_heads(heads: Mapping[str, nn.Module], stored: Mapping[str, Mapping[str, Tensor]], folder: Path) -> None:
    """Fill modules by name; one that the folder lacks stays as it is, which is logged.

    Raises: CheckpointError where shapes differ.
    """
    for name, head in heads.items():
        if name in stored:
            fill(head, stored[name], f"the {name} head of {folder}")
        else:
            logger.warning("%s has no %s head; it starts fresh.", folder, name)


class EncoderLoader(Protocol):
    """A class of `transformers` that loads encoders, such as AutoModel."""

    def from_pretrained(self, folder: str) -> nn.Module: ...


class SpanBoundaryOutput(dict[str, Tensor]):
    """`loss`, `mlm_loss` and `sbo_loss` (both detached, for a log), or `last_hidden_state` where no labels came.

    A dictionary, as the Trainer wants it, whose entries are attributes too.
    """

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this output has no {name!r}; it has {', '.join(self)}.") from None


class SpanBoundaryPretraining(nn.Module):
    """An encoder with a masked-LM head and a span-boundary head; `loss` is the weighted sum of both.

    `encoder`: any model of `transformers` without a head (or a module that is called alike and has
    `get_input_embeddings()`). Both decoders share its word table, each has a bias of its own. Losses are made at the
    hidden tokens alone. See `SpanBoundaryHead` for `combine`, `num_positions`, `position_size` and `beyond`; with
    `edges="skip"`, as in the released code, a span beside one of `special_ids` (`collator.special_ids`) has no
    span-boundary loss.

    Both losses are divided by the number of hidden tokens: of the batch, or of all micro-batches where the Trainer says
    it (`num_items_in_batch`), so that accumulated gradients are those of one large batch. `max_targets` reserves so
    many rows for hidden tokens: shapes are then constant (`torch.compile`) and a GPU is never waited for; a batch with
    more is an error. Without it the number is asked for once per batch.

    Raises: ConfigError for a model that can't be wrapped, or options that contradict each other.
    """

    accepts_loss_kwargs = True  # the Trainer then passes num_items_in_batch
    main_input_name = "input_ids"

    def __init__(
        self,
        encoder: Any,
        *,
        combine: Combine = "concat",
        num_positions: int = 30,
        position_size: int | None = None,
        beyond: Literal["last", "skip"] = "last",
        edges: Literal["special", "skip"] = "special",
        special_ids: Sequence[int] | None = None,
        mlm_weight: float = 1.0,
        sbo_weight: float = 1.0,
        max_targets: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check_encoder(encoder)
        weights = {"mlm": mlm_weight, "sbo": sbo_weight}
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights.values()) or not any(weights.values()):
            raise ConfigError(f"mlm_weight and sbo_weight are 0 or more, one of them above 0; got {weights}.")
        if edges not in ("special", "skip") or (edges == "skip") != (special_ids is not None):
            raise ConfigError(
                f"edges is 'special', or 'skip' together with special_ids=collator.special_ids; got {edges!r} and "
                f"{special_ids!r}."
            )
        if max_targets is not None and max_targets < 1:
            raise ConfigError(f"max_targets must be at least 1, or None; got {max_targets}.")
        self.encoder = encoder
        self.mlm_head = TiedMaskedLMHead(encoder, seed=seed)
        self.sbo_head = SpanBoundaryHead(
            encoder, num_positions=num_positions, position_size=position_size, combine=combine, beyond=beyond, seed=seed
        )
        self.weights, self.edges, self.max_targets = weights, edges, max_targets
        self.learned = _learned_by(encoder)
        ids = torch.tensor([] if special_ids is None else list(special_ids), dtype=torch.int64)
        self.register_buffer("special_ids", ids, persistent=False)
        self.special_ids: Tensor

    @property
    def config(self) -> object:
        """Return the encoder's configuration, which the Trainer and its callbacks look at."""
        return getattr(self.encoder, "config", None)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        span_mask: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> SpanBoundaryOutput:
        """Encode and, with labels, score. All tensors [B, L] int64; labels are the original ids, -100 where visible.

        Spans are the runs of `span_mask` (1 at hidden tokens) or, without it, of the tokens that have a label; targets
        are the tokens that have a label.

        Raises: DataError for shapes that do not fit.
        """
        if getattr(self, "_is_replica", False):  # a copy by torch's DataParallel, on another device than the original
            self.mlm_head.tie(self.encoder)
            self.sbo_head.tie(self.encoder)
        hidden_BLD = self._encode(input_ids, attention_mask, token_type_ids)
        if labels is None:
            return SpanBoundaryOutput(last_hidden_state=hidden_BLD)
        for name, other in (("labels", labels), ("span_mask", span_mask)):
            if other is not None and other.shape != input_ids.shape:
                raise DataError(f"{name} has shape {list(other.shape)}, input_ids {list(input_ids.shape)}.")
        is_target_BL = labels != IGNORED
        usable_BL = torch.ones_like(is_target_BL) if attention_mask is None else attention_mask != 0
        if self.edges == "skip":
            usable_BL = usable_BL & ~torch.isin(input_ids, self.special_ids)
        found = find_boundaries(is_target_BL if span_mask is None else span_mask != 0, usable_BL)
        is_pair_BL = is_target_BL & self.sbo_head.has_row(found)

        mlm_places, mlm_ids, sbo_places, sbo_ids = self._targets(labels, is_target_BL, is_pair_BL)
        mlm_rows = self.mlm_head.rows_at(hidden_BLD, mlm_places)
        sbo_rows = self.sbo_head.rows_at(hidden_BLD, sbo_places, found)
        if self.max_targets is None:
            mlm, sbo = self.mlm_head.loss_sum(mlm_rows, mlm_ids), self.sbo_head.loss_sum(sbo_rows, sbo_ids)
        else:
            mlm = self.mlm_head.padded_loss_sum(mlm_rows, mlm_ids)
            sbo = self.sbo_head.padded_loss_sum(sbo_rows, sbo_ids)
        count = _count(num_items_in_batch, is_target_BL)
        mlm, sbo = mlm / count, sbo / count
        loss = self.weights["mlm"] * mlm + self.weights["sbo"] * sbo
        return SpanBoundaryOutput(loss=loss, mlm_loss=mlm.detach(), sbo_loss=sbo.detach())

    def resize_token_embeddings(self, num_tokens: int) -> nn.Module:
        """Resize the encoder's word table to `num_tokens` rows, and the biases of both heads with it."""
        embedding = self.encoder.resize_token_embeddings(num_tokens)
        for head in (self.mlm_head, self.sbo_head):
            head.resize(len(word_table(self.encoder)))
        return embedding

    def save_pretrained(self, folder: str | Path, tokenizer: object = None) -> None:
        """Write the encoder as it saves itself, both heads beside it, and the tokenizer where one is given.

        `AutoModel` and `spanwise.load` read the folder, the latter and `spanwise.pipeline("fill-mask")` with the heads.
        Raises: ConfigError for an encoder that can't save itself.
        """
        folder = Path(folder)
        pair_name = SUM if self.sbo_head.combine == "sum" else "sbo"
        heads = {"mlm": self.mlm_head, pair_name: self.sbo_head}
        text = Learned(file=NOT_STATED, what="text")  # the loop that trains is somebody else's, and so is its text
        write_heads(folder, self.encoder, heads, self._options(), [*self.learned, text])
        for name in ("save_pretrained", "save"):  # of transformers, and ours
            if hasattr(tokenizer, name):
                getattr(tokenizer, name)(folder)
                break

    @classmethod
    def from_pretrained(
        cls, source: str | Path, encoder_class: EncoderLoader, **options: Any
    ) -> SpanBoundaryPretraining:
        """Go on from a folder or hub id: one that `save_pretrained` wrote, one of our runs, any model of transformers.

        `encoder_class` loads the encoder, in float32: `AutoModel`, for instance. Heads that the folder has are taken
        over, others start fresh, with a warning that names them. `options` are those of the class; what is not given is
        as the folder says.

        Raises: CheckpointError for a folder that is missing or damaged, or options of another shape than its heads.
        """
        folder = find_folder(source)
        stored, record = read_heads(folder), read_record(folder)
        chosen = {**read_options(folder, record), **options}
        if "sbo" in stored:
            positions, size = stored["sbo"]["positions.weight"].shape
            chosen = {"num_positions": positions, "position_size": size, **chosen}
        model = cls(encoder_class.from_pretrained(str(folder)).float(), **chosen)
        model.learned = learned_by(record, str(source))
        pair_name = SUM if model.sbo_head.combine == "sum" else "sbo"
        fill_heads({"mlm": model.mlm_head, pair_name: model.sbo_head}, stored, folder)
        return model

    def _options(self) -> dict[str, object]:
        """Return the options that a folder keeps."""
        head = self.sbo_head
        return {
            "combine": head.combine,
            "num_positions": head.num_positions,
            "position_size": head.positions.embedding_dim,
            "beyond": head.beyond,
            "edges": self.edges,
            "special_ids": self.special_ids.tolist() if self.edges == "skip" else None,
            "mlm_weight": self.weights["mlm"],
            "sbo_weight": self.weights["sbo"],
        }

    def get_input_embeddings(self) -> nn.Module:
        """Return the encoder's embedding module."""
        return self.encoder.get_input_embeddings()

    def activation_checkpointing_enable(
        self,
        activation_checkpointing_kwargs: dict[str, object] | None = None,
        every_n_layers: int = 1,
        offload: bool = False,
    ) -> None:
        """Recompute the encoder's layers in the backward pass; the Trainer calls this when asked to."""
        self.encoder.activation_checkpointing_enable(
            activation_checkpointing_kwargs=activation_checkpointing_kwargs,
            every_n_layers=every_n_layers,
            offload=offload,
        )

    def activation_checkpointing_disable(self) -> None:
        """Keep activations again."""
        self.encoder.activation_checkpointing_disable()

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: dict[str, object] | None = None) -> None:
        """Do what `activation_checkpointing_enable` does, under the name that older versions of transformers call."""
        if hasattr(self.encoder, "activation_checkpointing_enable"):
            self.activation_checkpointing_enable(gradient_checkpointing_kwargs)
        else:
            self.encoder.gradient_checkpointing_enable(gradient_checkpointing_kwargs=gradient_checkpointing_kwargs)

    def gradient_checkpointing_disable(self) -> None:
        """Do what `activation_checkpointing_disable` does, under its older name."""
        if hasattr(self.encoder, "activation_checkpointing_disable"):
            self.encoder.activation_checkpointing_disable()
        else:
            self.encoder.gradient_checkpointing_disable()

    def _encode(self, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None) -> Tensor:
        given = {"attention_mask": attention_mask, "token_type_ids": token_type_ids}
        output = self.encoder(
            input_ids=input_ids, **{name: value for name, value in given.items() if value is not None}
        )
        if isinstance(output, Tensor):
            return output
        if isinstance(output, Mapping):
            return output["last_hidden_state"]
        return output.last_hidden_state if hasattr(output, "last_hidden_state") else output[0]

    def _targets(self, labels: Tensor, is_target: Tensor, is_pair: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return flat places and ids of the targets of both heads; -100 fills what `max_targets` reserved too much."""
        counts = torch.stack([is_target.sum(), is_pair.sum()])
        if self.max_targets is None:
            sizes = counts.tolist()  # the one time that a device is waited for
        else:
            torch._assert_async((counts <= self.max_targets).all(), "a batch has more hidden tokens than max_targets")
            sizes = [self.max_targets, self.max_targets]
        found = []
        for chosen_BL, size, count in zip((is_target, is_pair), sizes, counts, strict=True):
            places_N = places_of(chosen_BL, size)
            ids_N = labels.reshape(-1).index_select(0, places_N)
            if self.max_targets is not None:
                ids_N = ids_N.masked_fill(torch.arange(size, device=ids_N.device) >= count, IGNORED)
            found += [places_N, ids_N]
        return found[0], found[1], found[2], found[3]


def _count(num_items: Tensor | int | None, is_target: Tensor) -> Tensor:
    """Return the number to divide losses by; at least 1, so that a batch without targets has the loss 0."""
    if num_items is None:
        return is_target.sum().clamp(min=1)
    items = torch.as_tensor(num_items, device=is_target.device).reshape(-1)[0]  # one per device under DataParallel
    return items.clamp(min=1)


def _learned_by(encoder: object) -> list[Learned]:
    """Return what an encoder learned from, by the record of the folder that it came from, if that can be read."""
    name = getattr(getattr(encoder, "config", None), "name_or_path", "") or type(encoder).__name__
    path = Path(name) / RECORD
    record: JsonObject = {}
    if path.is_file():
        try:
            record = read_entries(path, {LEARNED_FROM: TypeAdapter(list[Learned])})
        except CheckpointError as error:  # the encoder was loaded without it
            logger.warning("What the weights learned from is not known, and is saved as such: %s", error)
    return learned_by(record, name)


def _check_encoder(encoder: object) -> None:
    base = getattr(encoder, "base_model", encoder)
    if base is not encoder:
        raise ConfigError(
            f"{type(encoder).__name__} has a head of its own; pass its encoder: SpanBoundaryPretraining("
            "model.base_model). To keep the masked-LM head it was saved with: "
            "SpanBoundaryPretraining.from_pretrained(folder, AutoModel)."
        )
    if not callable(encoder) or not isinstance(encoder, nn.Module):
        raise ConfigError(f"an encoder is a torch module; got {type(encoder).__name__}.")
    if getattr(getattr(encoder, "config", None), "is_decoder", False):
        raise ConfigError(f"{type(encoder).__name__} is set to be a decoder, which sees no right boundary of a span.")
    word_table(encoder)
