"""Hostile files: pickles, archives that unpack without end, deep JSON, links out of the folder, in every place where a
command reads a file of somebody else. Nothing in them is executed, and each command ends with a sentence."""

import contextlib
import gzip
import io
import json
import pickle
import random
import shutil
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.reliability.damage import make_targets
from tests.reliability.figure import Figure

from spanwise.asking.documents.read import ReadingOptions, document_files, read_document
from spanwise.cli.main import main
from spanwise.errors import SpanwiseError

PROMISED = {0, 1, 2, 3, 4}
EVENTS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "socket.connect", "webbrowser.open")
_seen: list[str] = []
_is_hooked: list[bool] = []


class Command:
    """Unpickled, it would run a command."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, (f"touch {self.canary}",)


def torch_archive(canary: Path) -> bytes:
    """What torch.save writes, with a command inside."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Command(canary)))
        archive.writestr("archive/version", "3")
    return made.getvalue()


def bomb(name: str, start: bytes) -> bytes:
    """An archive of some kilobytes that unpacks to 300 MB."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as part:
        part.write(start)
        for _ in range(300):
            part.write(bytes(1 << 20))
    return made.getvalue()


def tensors(header: bytes, length: int | None = None) -> bytes:
    """A safetensors file with a header of one's own."""
    return struct.pack("<Q", len(header) if length is None else length) + header + bytes(64)


def doubled(letter: int) -> bytes:
    """A line of YAML that names the line before it twice."""
    return b"%c: &%c [*%c, *%c]\n" % (letter + 1, letter + 1, letter, letter)


def payloads(canary: Path) -> dict[str, bytes]:
    """What is put in a file's place, by name."""
    overlapping = {n: {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} for n in ("a", "b")}
    return {
        "a pickle": pickle.dumps(Command(canary)),
        "a pickle of torch": torch_archive(canary),
        "open brackets": b"[" * 30_000,
        "open objects": b'{"a":' * 30_000,
        "a number of 5,000 digits": b'{"version": ' + b"9" * 5_000 + b"}",
        "not a number": b'{"hidden_size": NaN, "step": Infinity}',
        "a key twice": b'{"model_type": "bert", "model_type": "x"}',
        "a list": b"[1, 2, 3]",
        "null": b"null",
        "half a letter": b'{"a": "\xff\xfe"}',
        "a lone surrogate": b'{"a": "\\ud800"}',
        "nothing": b"",
        "NUL bytes": bytes(4096),
        "an endless archive": bomb("word/document.xml", b"<a>"),
        "an endless gzip": gzip.compress(bytes(8 << 20)),
        "a header of 2**63 bytes": tensors(b"{}", 2**63),
        "tensors on one another": tensors(json.dumps(overlapping).encode()),
        "a deep header": tensors(b"[" * 30_000),
        "a tag of YAML": b"!!python/object/apply:os.system ['touch " + str(canary).encode() + b"']\n",
        "names that repeat without end": b"a: &a [x, x]\n" + b"".join(doubled(97 + i) for i in range(20)),
        "code by name": b'{"model_type": "bert", "auto_map": {"AutoModel": "evil.Model"}, "trust_remote_code": true}',
        "a weight map outside": b'{"weight_map": {"a": "../../outside.safetensors", "b": "/etc/hostname"}}',
    }  # fmt: skip


LINKS = ("a link out", "a link to itself", "a folder")


def put(path: Path, name: str, content: bytes | None) -> None:
    """Put a payload, or a link or a folder, in the place of a file."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if name == "a link out":
        path.symlink_to("/etc/passwd")
    elif name == "a link to itself":
        path.symlink_to(path)
    elif name == "a folder":
        path.mkdir()
    else:
        assert content is not None
        path.write_bytes(content)


def doors(scratch: Path) -> list[tuple[str, Path | None, Callable[[Path], object]]]:
    """(what is read, the good folder it lies in, how it is read with the file changed): the places for payloads."""
    targets = {target.name: target.folder for target in make_targets(scratch)}
    tuned, store, run = targets["fine-tuned folder, asked"], targets["store"], targets["run"]
    out = scratch / "out"

    def command(*words: object) -> Callable[[Path], object]:
        return lambda folder: main([str(word(folder) if callable(word) else word) for word in words])

    def whole(folder: Path) -> Path:
        return folder

    found: list[tuple[str, Path | None, Callable[[Path], object]]] = []
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "spanwise.json", "model.safetensors",
                 "pytorch_model.bin", "model.safetensors.index.json", "manifest.json"):  # fmt: skip
        found.append((name, tuned, command("show", "model", whole)))
        found.append((name, tuned, command("convert", whole, out)))
    for name in ("store.json", "manifest.json", "00000.bin", "00000.idx", "tokenizer/tokenizer.json"):
        found.append((name, store, command("show", "store", whole)))
    for name in ("metrics.jsonl", "recipe.json", "run.json", "plan.jsonl"):
        found.append((name, run, command("report", whole, "--out", out / "report.html")))
    pretrain = ("pretrain", "spanbert-tiny", "--data", scratch / "none", "--out", out, "--config")
    found.append(("recipe.yaml", None, command(*pretrain, lambda folder: folder / "recipe.yaml")))
    given = ("--tokenizer", store / "tokenizer", "--out", out)
    for name in ("text.txt", "text.jsonl", "text.txt.gz"):
        found.append((name, None, command("prepare", partial(_inside, name), *given)))
    for name in ("a.docx", "a.hwpx", "a.html", "a.pdf", "a.md"):
        found.append((name, None, _read_documents))
    return found


def _inside(name: str, folder: Path) -> Path:
    return folder / name


def _read_documents(folder: Path) -> int:
    """Read a folder as `spanwise ask` does."""
    try:
        for file in document_files(folder).files:
            for _ in read_document(folder / file.name, ReadingOptions()):
                pass
    except SpanwiseError as error:
        print(f"spanwise: {error}", file=sys.stderr)
        return error.exit_status
    return 0


@contextlib.contextmanager
def _watched() -> Iterator[list[str]]:
    """The events of this process that only a payload would cause."""
    if not _is_hooked:
        _is_hooked.append(True)
        sys.addaudithook(lambda event, arguments: _seen.append(f"{event} {arguments}") if event in EVENTS else None)
    _seen.clear()
    yield _seen


def hostile_files(scratch: Path, seed: int, *, cases: int) -> Figure:
    """Draw cases of (door, payload)."""
    figure, chance = Figure("hostile folders and files: 0 executed, 0 tracebacks, 0 crashes"), random.Random(seed)
    scratch.mkdir(exist_ok=True)
    canary = scratch / "executed"
    contents: dict[str, bytes | None] = {**payloads(canary), **dict.fromkeys(LINKS)}
    every = [(door, name) for door in doors(scratch) for name in contents]
    for (file, good, read), name in chance.sample(every, min(cases, len(every))):
        folder = scratch / "hostile"
        if good is None:
            folder.mkdir()
        else:
            shutil.copytree(good, folder)
        if file in ("pytorch_model.bin", "model.safetensors.index.json"):
            (folder / "model.safetensors").unlink()
        put(folder / file, name, contents[name])
        said = io.StringIO()
        try:
            with _watched() as events, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                status = read(folder)
            wrong = "" if status in PROMISED else f"status {status}"
            if status != 0 and "spanwise: " not in said.getvalue():
                wrong = f"status {status} without a sentence"
            if "Traceback" in said.getvalue():
                wrong = "a traceback"
        except BaseException as error:
            wrong = f"{type(error).__name__}: {str(error)[:200]}"
        if canary.exists() or events:
            wrong = f"executed: {events}"
        figure.check(not wrong, f"{file} is {name}: {wrong}")
        for left in (folder, scratch / "out"):
            shutil.rmtree(left, ignore_errors=True)
    return figure
