"""Weight files of a model folder: `model.safetensors`, its shards, or an old `pytorch_model.bin`.

Nothing here can run code: safetensors holds bytes alone, and a `.bin` goes through torch's restricted unpickler
(`weights_only=True`), which refuses everything but tensors and plain containers.
"""

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.json_files import read_json_object
from spanwise.runtime.disk import DISK

SAFETENSORS, INDEX, PICKLED, HEADS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "heads.safetensors",
)
TASKS, CHANGES = "tasks", "changes.safetensors"  # tasks/NAME/changes.safetensors: what a task changes of the encoder
FOREIGN = ("*.ckpt.index", "*.h5", "*.msgpack", "*.onnx", "*.gguf", "pytorch_model*.bin*")  # weights of other libraries


@dataclass(frozen=True)
class StoredTensors:
    """Tensors by their name in the file, and the file each came from."""

    folder: Path
    tensors: dict[str, Tensor]
    files: dict[str, Path]


def read_weights(folder: Path) -> StoredTensors:
    """Read all weights of a folder, heads.safetensors included; safetensors go before `.bin`.

    Raises:
        CheckpointError: no weight file, or one that is damaged or unsafe; the message names it.
    """
    if (folder / SAFETENSORS).exists():
        paths = [folder / SAFETENSORS]
    elif (folder / INDEX).exists():
        paths = _shards(folder / INDEX)
    elif (folder / PICKLED).exists():
        paths = [folder / PICKLED]
    else:
        raise CheckpointError(
            f"{folder} holds no weights: {SAFETENSORS}, {INDEX} or {PICKLED} was expected.{_others(folder)}"
        )
    if (folder / HEADS).exists():
        paths.append(folder / HEADS)
    tensors: dict[str, Tensor] = {}
    files: dict[str, Path] = {}
    for path in paths:
        read = _read_pickled(path) if path.name == PICKLED else read_safetensors(path)
        twice = next(iter(read.keys() & tensors.keys()), None)
        if twice is not None:
            raise CheckpointError(f"{path} repeats the tensor {twice!r} of {files[twice]}.")
        tensors |= read
        files |= dict.fromkeys(read, path)
    return StoredTensors(folder, tensors, files)


def _others(folder: Path) -> str:
    """Say what to do about weights in files of another library."""
    found = next((path.name for pattern in FOREIGN for path in sorted(folder.glob(pattern))), None)
    if found is None:
        return ""
    return f" {found} is not read here: save the model as {SAFETENSORS} with the library that wrote it."


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Read all tensors of one safetensors file, memory-mapped.

    Raises:
        CheckpointError: the file is truncated or is no safetensors file.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{path} is no whole safetensors file ({error}). It may be cut short; fetch or write it again."
        ) from error


def write_safetensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write contiguous CPU tensors; `{"format": "pt"}` is what Hugging Face's reader asks for.

    safetensors makes files that nobody else may read (0600); here the umask decides, as for every other file.
    """
    DISK.write_file(path, b"")
    mode = path.stat().st_mode
    DISK.write_by_name(path, lambda place: save_file(dict(tensors), place, metadata={"format": "pt"}))
    path.chmod(mode)


def sha256_of_tensors(*parts: Mapping[str, Tensor]) -> str:
    """Return one SHA-256 over names and numbers of all tensors on the host."""
    digest = hashlib.sha256()
    for tensors in parts:
        for name in sorted(tensors):
            digest.update(name.encode())
            digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def _shards(index: Path) -> list[Path]:
    weight_map = read_json_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError(f"{index} holds no 'weight_map'.")
    names: set[str] = set()
    for name in weight_map.values():
        # a name with a path in it could reach any file of this machine
        plain = isinstance(name, str) and name == Path(name).name and "\\" not in name
        if not plain or not name.endswith(".safetensors"):
            raise CheckpointError(f"{index} names the file {name!r}; plain *.safetensors names are expected.")
        if not (index.parent / name).is_file():
            raise CheckpointError(f"{index} names {name}, which is missing from {index.parent}.")
        names.add(name)
    return [index.parent / name for name in sorted(names)]


def _read_pickled(path: Path) -> dict[str, Tensor]:
    try:
        # the format of older folders; weights_only reads tensors and plain containers and runs no code
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = next(
            (line.strip() for line in str(error).splitlines() if "GLOBAL" in line or "Unsupported" in line), ""
        )
        raise CheckpointError(
            f"{path} is refused: a pickle may hold tensors alone, and this one asks for more or is damaged. {reason} "
            "Ask its author for model.safetensors."
        ) from error
    except Exception as error:  # damaged bytes make an unpickler fail in any way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CheckpointError(f"{path} can't be read ({reason}). It may be cut short; fetch it again.") from error
    tensors = dict(content) if isinstance(content, Mapping) else {}
    if not tensors or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in tensors.items()):
        raise CheckpointError(f"{path} must hold a flat dictionary of tensors; it holds something else.")
    return tensors
