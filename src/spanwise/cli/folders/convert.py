"""`spanwise convert`: other people's checkpoints in, plain Hugging Face folders out; or any model as an ONNX folder."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spanwise.cli.console import print_json, print_pairs, say
from spanwise.errors import ConfigError
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
    dtype: Literal["fp32", "bf16", "int8"] = "fp32",
    task: str | None = None,
    onnx: bool = False,
    json: bool = False,
) -> None:
    """Write a checkpoint as a plain Hugging Face folder: today's names, one safetensors file, all heads, right case.

    Parameters
    ----------
    source
        Folder of a BERT, SpanBERT, RoBERTa, XLM-RoBERTa, ALBERT, ELECTRA, ModernBERT, Splinter or GPT-1 checkpoint, or
        a hub id. Safetensors, shards and pytorch_model.bin (tensors alone; a pickle with code in it is refused) are
        read.
    target
        Folder to write; it must not exist.
    tokenizer
        Folder or hub id of the tokenizer. Default: the source's.
    dtype
        Of the numbers in the files. bf16 files are half as large; each number is rounded to 8 binary digits. int8 is of
        --onnx alone, and bf16 is not: the products of the layers are of bytes.
    task
        Of a folder with several tasks, the one to write, encoder and head. Default: the base alone. With --onnx also
        encoder, or a head of pre-training (mlm); default: what the model was fine-tuned for, else the encoder.
    onnx
        Write a folder for onnxruntime instead: model.onnx, tokenizer, config.json, and spanwise.json with inputs,
        outputs and labels. It is run beside this package first. Needs pip install 'spanwise[onnx]'.
    json
        Print one JSON object.
    """
    if onnx:
        _export(source, target, tokenizer, dtype, task, json)
        return
    if dtype == "int8":
        raise ConfigError("--dtype int8 is of ONNX files; add --onnx, or choose fp32 or bf16.")
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


def _export(source: str, target: Path, tokenizer: Path | None, dtype: str, task: str | None, json: bool) -> None:
    """Write an ONNX folder and say how far its numbers are from ours. Raises: ConfigError for bf16."""
    from spanwise.tasks.onnx.export import export_onnx

    if dtype == "bf16":
        raise ConfigError("--dtype bf16 is no type of ONNX files here; onnxruntime on a CPU is fast in fp32 and int8.")
    made = export_onnx(source, target, task=task, tokenizer=tokenizer, precision="int8" if dtype == "int8" else "fp32")
    if json:
        print_json(asdict(made) | {"target": str(made.target)})
        return
    print_pairs(
        [
            ("Wrote", f"{made.target} ({made.task}, {made.precision}, {made.num_bytes / 1e6:,.1f} MB)"),
            *(
                (one.output, f"differs by at most {one.largest:.2g} from ours, where numbers go up to {one.scale:.3g}")
                for one in made.differences
            ),
        ]
    )
    for note in made.notes:
        say(note)


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
