"""`spanwise convert --onnx`: a folder that onnxruntime and the tokenizers library run, without this package or torch.

It holds model.onnx, the tokenizer, config.json, and spanwise.json with inputs, outputs, labels and the task's options;
for a task that makes inputs which the tokenizer can't, a Python file that makes them by numpy alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spanwise.config import to_record
from spanwise.config.records import class_name
from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, build_head
from spanwise.interop.folder_plan import FolderContent, plan_folder
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import JsonObject, write_json
from spanwise.interop.onnx.export import MODEL, Difference, OnnxType, check, compare, require_onnx, write_model
from spanwise.interop.onnx.heads import (
    HiddenStates,
    PairScores,
    PointerScores,
    Scores,
    SequenceScores,
    SpanScores,
    TokenScores,
    VocabularyScores,
)
from spanwise.interop.onnx.joint import JointScores
from spanwise.interop.onnx.text import TextGraph
from spanwise.interop.record import RECORD
from spanwise.nn.coreference.head import CoreferenceHead
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.nn.heads.pair import PairHead
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.replaced_token import ReplacedTokenHead
from spanwise.nn.heads.sequence import SequenceHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import atomic_folder
from spanwise.tasks.base import Task
from spanwise.tasks.checkpoint import known_tasks, load_task_model, open_tokenizer
from spanwise.tasks.registry import TASKS, task_recipe
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import LEARNED_FROM

ENCODER = "encoder"  # instead of a task: the hidden states alone
PRETRAINED = ("mlm", "clm", "rtd", "nsp", "sop")  # heads of pre-training that have a file


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A folder that was written, and how far its numbers are from ours."""

    target: Path
    task: str
    precision: OnnxType
    num_bytes: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Source:
    """What is exported: a model, the task that it answers (None: none), and the tokenizer to write beside it."""

    encoder: Encoder
    head: object
    task: Task | None
    tokenizer: Tokenizer | None
    checkpoint: Checkpoint


def export_onnx(
    source: str | Path,
    target: str | Path,
    *,
    task: str | None = None,
    tokenizer: str | Path | None = None,
    precision: OnnxType = "fp32",
) -> Exported:
    """Write a model as an ONNX folder, which appears whole or not at all, after it was run beside the package.

    task: a task's name, "encoder", or a head of pre-training ("mlm"); None: what the folder was fine-tuned for, else
    the encoder.
    Raises: ConfigError where the packages are missing, a folder with several tasks comes without `task`, or a head has
    no form in files; CheckpointError as `load_task_model`; NumericsError where fp32 numbers are not ours.
    """
    require_onnx()
    checkpoint = read_folder(source)
    checkpoint.check_native("export to ONNX")
    name = task or _own_task(checkpoint)
    opened = _open(source, checkpoint, name, tokenizer)
    scores = _scores(opened)
    graph = TextGraph(opened.encoder, scores)
    with atomic_folder(target) as folder:
        write_model(graph, folder / MODEL, precision)
        found = compare(opened.encoder, graph, folder / MODEL)
        if precision == "fp32":
            check(found)
        _write_beside(folder, opened, graph, name, precision, found)
        num_bytes = (folder / MODEL).stat().st_size
    notes = (COREF_NOTE,) if isinstance(opened.head, CoreferenceHead) else ()
    return Exported(
        target=Path(target),
        task=name,
        precision=precision,
        num_bytes=num_bytes,
        differences=tuple(found),
        notes=notes,
    )


COREF_NOTE = (
    "The file holds the encoder as coreference changed it, not the head: which spans are kept is a loop over the whole "
    "document, which a graph of fixed operators can't hold."
)


def _own_task(checkpoint: Checkpoint) -> str:
    """Return what the folder is for. Raises: ConfigError for one with several tasks, or a task of a user's own."""
    if checkpoint.tasks:
        raise ConfigError(f"{checkpoint.folder} has several tasks; name one with --task: {_choices(checkpoint)}.")
    record = checkpoint.record.get("task")
    defaults = {name: task_recipe(name).task for name in TASKS}
    if isinstance(record, Mapping):
        for name, default in defaults.items():
            if record.get("part") == class_name(type(default)):
                return name
        raise ConfigError(
            f"{checkpoint.folder} is of the task {record.get('part')!r}, whose head has no form in ONNX files; "
            f"--task {ENCODER} writes the encoder alone."
        )
    for name, default in defaults.items():
        if default.head_name in checkpoint.heads and checkpoint.is_labelled(default.head_name):
            return name
    return ENCODER


def _choices(checkpoint: Checkpoint) -> str:
    """Return what can be written of a folder: its tasks, the encoder, and heads of pre-training that have a file."""
    tasks = checkpoint.tasks or known_tasks(checkpoint.folder)
    return ", ".join((*tasks, ENCODER, *(name for name in PRETRAINED if name in checkpoint.heads)))


def _open(source: str | Path, checkpoint: Checkpoint, name: str, tokenizer: str | Path | None) -> _Source:
    if name in TASKS:
        loaded = load_task_model(source, name, tokenizer=tokenizer, device="cpu", precision="fp32")
        model = loaded.model
        words = loaded.task.saved_tokenizer(loaded.tokenizer)
        return _Source(encoder=model.encoder, head=model.head, task=loaded.task, tokenizer=words, checkpoint=checkpoint)
    if name not in (ENCODER, *PRETRAINED):
        raise ConfigError(f"--task {name}: {checkpoint.folder} has {_choices(checkpoint)}.")
    encoder = build_encoder(checkpoint).eval()
    head = None if name == ENCODER else build_head(checkpoint, name, encoder)
    if head is None and name != ENCODER:
        raise ConfigError(f"{checkpoint.folder} has no head {name!r}; it has {', '.join(checkpoint.heads) or 'none'}.")
    has_words = tokenizer is not None or checkpoint.tokenizer_folder is not None
    found = open_tokenizer(checkpoint, tokenizer) if has_words else None
    return _Source(
        encoder=encoder, head=None if head is None else head.eval(), task=None, tokenizer=found, checkpoint=checkpoint
    )


def _scores(opened: _Source) -> Scores:
    """Return the head in the form that files have. Raises: ConfigError for a head or a setting without one."""
    head, task, config = opened.head, opened.task, opened.encoder.config
    if head is None or isinstance(head, CoreferenceHead):
        return HiddenStates(config.hidden_size)
    if isinstance(head, SpanSelectionHead):
        if getattr(task, "separators", "seen") == "unseen":
            raise ConfigError(
                "task.separators=unseen keeps positions that no token has, and an ONNX file counts positions itself; "
                "fine-tune with task.separators=seen."
            )
        assert opened.tokenizer is not None
        return PointerScores(head, opened.tokenizer.question_id)
    if isinstance(head, QuestionAnsweringHead):
        return JointScores(head, getattr(task, "beam_size", 20)) if head.is_joint else SpanScores(head)
    if isinstance(head, SequenceHead):
        if head.out.out_features == 1 and task is not None and task.head_name == "multiple_choice":
            return SequenceScores(head, "choices", "a score per choice", "choices")
        orders = 2 if getattr(task, "both_orders", False) else None
        return SequenceScores(head, head.out.out_features, "a score per label, or the number", orders)
    if isinstance(head, TokenClassificationHead | ReplacedTokenHead):
        return TokenScores(head)
    if isinstance(head, PairHead):
        return PairScores(head)
    if isinstance(head, TiedDecoder):
        return VocabularyScores(head, config.vocab_size)
    raise ConfigError(f"a {type(head).__name__} has no form in ONNX files; --task {ENCODER} writes the encoder alone.")


def _write_beside(
    folder: Path, opened: _Source, graph: TextGraph, name: str, precision: OnnxType, found: list[Difference]
) -> None:
    task, config = opened.task, opened.encoder.config
    if opened.tokenizer is not None:
        opened.tokenizer.save(folder)
    write_json(folder / "config.json", dict(_settings(folder, opened)))
    for program in () if task is None else task.input_programs:
        DISK.write_file(folder / program.name, program.read_bytes())
    labels = task.labels if task is not None else ()
    record: JsonObject = {
        "format": "onnx",
        "model": MODEL,
        "task_name": name,
        "precision": precision,
        "inputs": [port.as_json() for port in graph.inputs],
        "outputs": [port.as_json() for port in graph.outputs],
        "labels": list(labels),
        "max_positions": config.max_positions,
        "num_token_types": config.num_token_types,
        "max_difference": {one.output: one.largest for one in found},
        **({} if task is None else {"task": to_record(task)}),
        **({LEARNED_FROM: learned} if (learned := opened.checkpoint.record.get(LEARNED_FROM)) else {}),
    }
    write_json(folder / RECORD, record)


def _settings(folder: Path, opened: _Source) -> JsonObject:
    """Return the config.json of the model that was exported."""
    task = opened.task
    heads = {} if opened.head is None or task is None else {task.head_name: opened.head}
    content = FolderContent(
        opened.encoder,
        heads,  # type: ignore[arg-type]
        opened.tokenizer,
        main_head=None if task is None else task.head_name,
        main_kind=None if task is None else "task",
        model_type=opened.checkpoint.model_type,
        labels=() if task is None else task.labels,
        problem_type=None if task is None else task.problem_type,
    )
    return plan_folder(folder, content).settings
