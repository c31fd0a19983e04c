"""`spanwise show model`: what a checkpoint folder holds and what loads it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from spanwise.cli.console import print_json, print_pairs, say
from spanwise.runtime.files import JsonObject

if TYPE_CHECKING:
    from spanwise.interop.checkpoint import Checkpoint
    from spanwise.text.tokenizers import Tokenizer


MOST_SCORES = 3  # of a task, on its line


def show_model(model: str, /, *, json: bool = False) -> None:
    """Show a checkpoint: class, shape, heads, tokenizer, and what did not fit. Every tensor is read and checked.

    Parameters
    ----------
    model
        Checkpoint folder, or a hub id. Types that are not computed here run through transformers, if it is installed.
    json
        Print one JSON object.
    """
    from spanwise.interop.checkpoint import read_tokenizer
    from spanwise.interop.huggingface import read_folder

    checkpoint = read_folder(model)
    found = _record(checkpoint, read_tokenizer(checkpoint))
    if json:
        print_json(found)
    else:
        _print(found, checkpoint)


def _record(checkpoint: "Checkpoint", words: "Tokenizer | None") -> JsonObject:
    from spanwise.interop.record import OWN_HEADS
    from spanwise.interop.tensor_files import HEADS
    from spanwise.pretraining.corruption.folders import FOLDER, has_generator
    from spanwise.weights.learned_from import LEARNED_FROM

    encoder = sum(tensor.numel() for tensor in checkpoint.tensors.values())
    heads = {name: sum(t.numel() for t in tensors.values()) for name, tensors in checkpoint.heads.items()}
    tasks = [_task(checkpoint, task) for task in checkpoint.tasks]
    return {
        "path": str(checkpoint.folder),
        "architecture": checkpoint.source_class,
        "model_type": checkpoint.model_type,
        "config": asdict(checkpoint.config),
        "beside": sorted(name for name, file in checkpoint.record.get("heads", {}).items() if file == HEADS),
        "own_heads": checkpoint.record.get(OWN_HEADS, {}),
        "generator": FOLDER if has_generator(checkpoint.folder) else None,
        "parameters": {"encoder": encoder, "heads": heads, "total": encoder + sum(heads.values())},
        "tokenizer": words and {"vocab_size": words.vocab_size, "cased": words.is_cased, "sha256": words.sha256},
        "missing": list(checkpoint.report.missing),
        "unexpected": list(checkpoint.report.unexpected),
        "notes": list(checkpoint.report.notes),
        "recipe": checkpoint.record.get("recipe", {}).get("name"),
        "finetuned": checkpoint.record.get("finetuned", {}),
        "dev_scores": checkpoint.record.get("dev_scores", {}),
        LEARNED_FROM: checkpoint.record.get(LEARNED_FROM, []),
        "tasks": tasks,
    }


def _task(checkpoint: "Checkpoint", name: str) -> JsonObject:
    """Return what is shown of a task of a folder with several; all its files are read and checked."""
    from spanwise.interop.combined.combine import stored_task
    from spanwise.interop.combined.reading import CARRIED, with_task
    from spanwise.weights.learned_from import LEARNED_FROM

    record = with_task(checkpoint, name).record
    heads = sorted(record["heads"])
    scores = record.get("dev_scores", {})
    learned = {"heads": heads, "dev_scores": scores, LEARNED_FROM: record.get(LEARNED_FROM, [])}
    return {**asdict(stored_task(checkpoint.folder, name)), **learned, CARRIED: record.get(CARRIED)}


def _on_dev_data(scores: JsonObject) -> str:
    numbers = [(name, value) for name, value in scores.items() if isinstance(value, int | float)]
    told = [f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.2f}" for name, value in numbers]
    return f"on dev data: {', '.join(told[:MOST_SCORES]) or 'not scored'}"


def _finetuned(found: JsonObject) -> list[tuple[str, str]]:
    made = found["finetuned"]
    if not made:
        return []
    return [("Fine-tuned", f"{made.get('task')}, from {made.get('model')}; {_on_dev_data(found['dev_scores'])}")]


def _say_learned(first: str, lines: list[str]) -> None:
    for line in [first, *lines] if lines else []:
        say(line)


def _print(found: JsonObject, checkpoint: "Checkpoint") -> None:
    from spanwise.interop.combined.combine import megabytes
    from spanwise.interop.combined.reading import carried_line
    from spanwise.interop.tables import BY_MODEL_TYPE
    from spanwise.interop.tensor_files import HEADS
    from spanwise.weights.learned_from import learned_lines

    config, beside, parameters = checkpoint.config, found["beside"], found["parameters"]
    case = {None: "no tokenizer in the folder", True: "cased", False: "uncased"}[
        (found["tokenizer"] or {}).get("cased")
    ]
    others = [f"{name} in {HEADS}" for name in beside] + ([f"{found['generator']}/"] if found["generator"] else [])
    origins = {
        name: f" ({described['class']})" for name, described in found["own_heads"].items() if "class" in described
    }
    heads = [f"{name} {count:,}{origins.get(name, '')}" for name, count in parameters["heads"].items()]
    shape = f"{config.num_layers} layers x {config.hidden_size}, {config.num_heads} heads"
    print_pairs(
        [
            ("Model", found["path"]),
            ("Class", checkpoint.source_class or "not named"),
            ("Encoder", f"{shape}, {parameters['encoder']:,}"),
            ("Heads", ", ".join(heads) or "none"),
            ("Beside it", ", ".join(others) or None),
            ("Vocabulary", f"{config.vocab_size:,}, {case}"),
            ("Longest text", f"{config.max_positions:,} tokens"),
            ("Recipe", found["recipe"]),
            *_finetuned(found),
            ("Tensors", checkpoint.report),
        ]
    )
    for line in carried_line(checkpoint.record):
        say(line)
    _say_learned("Learned from:", learned_lines(checkpoint.record))
    for task in found["tasks"]:
        size = f"{megabytes(task['num_bytes'])} MB, {'whole' if task['rank'] is None else 'rank ' + str(task['rank'])}"
        told = f"Task {task['task']}: {size}; {_on_dev_data(task['dev_scores'])}."
        say(" ".join([told, *carried_line(task)]))
        _say_learned("It learned from:", learned_lines(task))
    without = f", which leaves out {', '.join(beside)}" if beside else ""
    family = BY_MODEL_TYPE.get(checkpoint.model_type)
    if family is None:
        say(
            "Runs through transformers, so slower than a native family. "
            f"Loads with AutoModel{without}, and with spanwise.load."
        )
    elif not family.is_stock:
        say("Loads with spanwise.load alone: no class of Hugging Face computes this encoder.")
    elif checkpoint.source_class in family.architectures:
        say(f"Loads with transformers.{checkpoint.source_class}{without}; with AutoModel; and with spanwise.load.")
