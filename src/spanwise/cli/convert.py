"""`spanwise convert`: other people's checkpoints in, plain Hugging Face folders out."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spanwise.cli.console import print_json, print_pairs, say
from spanwise.runtime.files import JsonObject

if TYPE_CHECKING:
    from spanwise.interop.checkpoint import Checkpoint
    from spanwise.interop.convert import Converted


def convert(
    source: str,
    target: Path,
    /,
    *,
    tokenizer: Path | None = None,
    dtype: Literal["fp32", "bf16"] = "fp32",
    task: str | None = None,
    json: bool = False,
) -> None:
    """Write a checkpoint as a plain Hugging Face folder: today's names, one safetensors file, all heads, right case.

    Parameters
    ----------
    source
        Folder of a BERT, SpanBERT, RoBERTa, ALBERT, ELECTRA or GPT-1 checkpoint, or a hub id. Safetensors, shards and
        pytorch_model.bin (tensors alone; a pickle with code in it is refused) are read.
    target
        Folder to write; it must not exist.
    tokenizer
        Folder of the tokenizer. Default: the source's.
    dtype
        Of the numbers in the files. bf16 files are half as large; each number is rounded to 8 binary digits.
    task
        Of a folder with several tasks, the one to write, encoder and head. Default: the base alone.
    json
        Print one JSON object.
    """
    if task is None:
        from spanwise.interop.convert import convert as run_conversion

        converted = run_conversion(source, target, tokenizer, dtype=dtype)
    else:
        from spanwise.tasks.checkpoint import convert_task

        converted = convert_task(source, task, target, tokenizer, dtype=dtype)
    if json:
        print_json(_record(converted))
        return
    _print(converted)
    if converted.generator is not None:
        say("")
        _print(converted.generator)


def _record(converted: "Converted") -> JsonObject:
    checkpoint, written = converted.checkpoint, converted.written
    return {
        "source": str(checkpoint.folder),
        "target": str(converted.target),
        "source_class": checkpoint.source_class,
        "model_type": written.model_type,
        "architecture": written.architecture,
        "heads": sorted(checkpoint.heads),
        "beside": list(written.beside),
        "tokenizer": converted.tokenizer is not None,
        "missing": list(checkpoint.report.missing),
        "unexpected": list(checkpoint.report.unexpected),
        "notes": [*checkpoint.report.notes, *_left_out(checkpoint), *written.notes],
        "generator": None if converted.generator is None else _record(converted.generator),
    }


def _left_out(checkpoint: "Checkpoint") -> list[str]:
    from spanwise.interop.combined.reading import tasks_left_out

    return [f"{tasks_left_out(checkpoint)} --task NAME writes one of them."] if checkpoint.tasks else []


def _print(converted: "Converted") -> None:
    found = _record(converted)
    case = converted.tokenizer and ("cased" if converted.tokenizer.is_cased else "uncased")
    print_pairs(
        [
            ("Read", f"{found['source']} ({found['source_class']})"),
            ("Missing", ", ".join(found["missing"]) or "nothing"),
            ("Not used", ", ".join(found["unexpected"]) or "nothing"),
            ("Heads", ", ".join(found["heads"]) or "none"),
            ("Tokenizer", case or "none in the source; name one with --tokenizer"),
            ("Wrote", f"{found['target']} ({found['architecture']}, model_type {found['model_type']})"),
        ]
    )
    for note in found["notes"]:
        say(note[0].upper() + note[1:])
