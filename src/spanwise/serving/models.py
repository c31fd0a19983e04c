"""The models of a server: which tasks each folder knows, and a pipeline for each."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import spanwise.pipelines as pipelines
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.pipelines.base import Pipeline
from spanwise.pipelines.given import OptionError
from spanwise.runtime.device import Precision, choose_device
from spanwise.serving.small_packs import allow_small_packs
from spanwise.serving.workers import workers_of
from spanwise.tasks.batches import Packing
from spanwise.tasks.checkpoint import known_tasks
from spanwise.tasks.registry import task_recipe

logger = logging.getLogger(__name__)
PACK_TOKENS = 1056  # of every forward: two windows of 512 tokens, and the spare ones that a fixed pack has
HEADS = ("mlm", "sbo")  # that fill hidden words: from the context, from the border tokens


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A folder with a pipeline for each name of a pipeline; `heads` are further ones of "fill-mask", by their head."""

    name: str
    pipelines: Mapping[str, Pipeline[Any, Any, Any]]
    heads: Mapping[str, Pipeline[Any, Any, Any]] = field(default_factory=dict)
    is_korean: bool = False

    def described(self) -> dict[str, Any]:
        """Return what `/v1/models` says of it; `mask` is the piece that stands for a hidden word."""
        mask = next((pipeline.mask_token for pipeline in self.heads.values()), None)  # type: ignore[attr-defined]
        return {
            "name": self.name,
            "tasks": list(self.pipelines),
            "heads": list(self.heads),
            "mask": mask,
            "korean": self.is_korean,
        }

    def all_pipelines(self) -> list[Pipeline[Any, Any, Any]]:
        """Return every pipeline of the folder."""
        return [*self.pipelines.values(), *self.heads.values()]

    def pipeline(self, task: str, head: str | None = None) -> Pipeline[Any, Any, Any]:
        """Return the pipeline of a task. Raises: ConfigError for a head that the model lacks."""
        if head is None:
            return self.pipelines[task]
        if head not in self.heads:
            raise ConfigError(f"{self.name} has no head {head!r} that fills blanks; it has {', '.join(self.heads)}.")
        return self.heads[head]


def open_models(
    sources: Sequence[str], precision: Precision = "auto", device: str | None = None, pack_tokens: int = PACK_TOKENS
) -> dict[str, ServedModel]:
    """Open folders or hub ids with all that each can answer, by names that tell them apart, in the order given.

    Raises: CheckpointError for a folder that is damaged or can answer nothing; ConfigError for precision or device.
    """
    if pack_tokens < 64:
        raise ConfigError(f"pack_tokens must be at least 64, got {pack_tokens}.")
    found: dict[str, ServedModel] = {}
    num_threads = torch.get_num_threads()
    torch.set_num_threads(workers_of(choose_device(device, precision).type)[1])  # kernels and the trial depend on it
    try:
        for source in sources:
            name = _free_name(source, found)
            options = {"precision": precision, "device": device, "packing": Packing(pack_tokens, is_fixed=True)}
            found[name] = _open(source, name, options)
    finally:
        torch.set_num_threads(num_threads)
    return found


def _open(source: str, name: str, options: Mapping[str, Any]) -> ServedModel:
    opened = {}
    for task in known_tasks(source):
        pipeline_name = task_recipe(task).task.pipeline_name
        assert pipeline_name is not None  # every task of the package has one
        opened[pipeline_name] = pipelines.pipeline(pipeline_name, source, **options)
    checkpoint = read_folder(source)
    causal = checkpoint.config.causal
    heads = {
        head: made
        for head in HEADS
        if head in checkpoint.heads and not causal and (made := _if_able("fill-mask", source, head=head, **options))
    }
    if heads:
        opened["fill-mask"] = next(iter(heads.values()))
    if "rtd" in checkpoint.heads:
        opened["replaced-tokens"] = pipelines.pipeline("replaced-tokens", source, **options)
    if not causal:
        opened["span-embedding"] = pipelines.pipeline("span-embedding", source, **options)
    tried = [*opened.items(), *(("fill-mask", head) for head in list(heads.values())[1:])]
    if causal and (writer := _if_able("text-generation", source, **_for_writing(name, options))):
        opened["text-generation"] = writer
    if not opened:
        raise CheckpointError(f"{source} has nothing that can be served: it has no task, and does not write.")
    _share_encoder([*heads.values(), opened.get("span-embedding")])
    mask = next((head.mask_token for head in heads.values()), "")  # type: ignore[attr-defined]
    allow_small_packs(tried, mask)
    tokenizer = next(iter(opened.values())).tokenizer
    return ServedModel(name=name, pipelines=opened, heads=heads, is_korean=_knows_hangul(tokenizer))


def _for_writing(name: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options for a model that writes, which has no int8; the log says so."""
    if options["precision"] != "int8":
        return options
    logger.warning("%s writes text in the precision auto: int8 is for models that read.", name)
    return {**options, "precision": "auto"}


def _if_able(task: str, source: str, **options: Any) -> Pipeline[Any, Any, Any] | None:
    """Return a pipeline; None, and a line in the log, where the folder lacks what it needs."""
    try:
        return pipelines.pipeline(task, source, **options)
    except (CheckpointError, OptionError) as error:  # no mask token
        logger.warning("%s", error)
        return None


def _share_encoder(of_base: Sequence[Any]) -> None:
    """Let pipelines that ask the folder's own encoder have one of it between them."""
    first = None
    for pipeline in of_base:
        owner = getattr(pipeline, "model", None) or getattr(pipeline, "reader", None)
        if owner is not None:
            first = first or owner.encoder
            owner.encoder = first


def _knows_hangul(tokenizer: Any) -> bool:
    """Return whether a tokenizer reads Korean, by a sentence of which it should know every word."""
    ids = tokenizer.encode("한국의 수도는 서울이다.").ids
    return bool(len(ids)) and tokenizer.unk_id not in ids.tolist()


def _free_name(source: str, taken: Mapping[str, object]) -> str:
    path = Path(source)
    if path.is_dir():
        path = path.resolve()
        base = path.parent.name if path.name == "final" else path.name
    else:
        base = source
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name
