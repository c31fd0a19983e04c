"""Which device computes, in which precision, with how many threads, and what must stay equal for equal bits."""

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from spanwise.errors import ConfigError
from spanwise.runtime.files import JsonObject

Precision = Literal["auto", "fp32", "bf16", "int8"]  # int8: prediction on a CPU alone
BYTE_PRODUCTS = {"avx512_vnni", "avx_vnni", "amx_int8"}


def choose_device(name: str | None = None, precision: Precision = "auto") -> torch.device:
    """The device named, or the best one present: CUDA, else the CPU; for int8 always the CPU.

    Raises: ConfigError for a name torch does not know, a kind that is neither, or a device this machine has not.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() and precision != "int8" else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device {name!r} is unknown; use 'cpu', 'cuda' or 'cuda:1'.") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {name!r} is of a kind that spanwise does not compute on; use 'cpu' or 'cuda'.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        found = torch.cuda.device_count()
        raise ConfigError(f"device {name!r} is not in this machine (CUDA devices found: {found}); use 'cpu'.")
    return device


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Instruction sets of this processor as Linux names them, without those that oneDNN is told to leave alone
    (ONEDNN_MAX_CPU_ISA=AVX2); empty elsewhere."""
    found: frozenset[str] = frozenset()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                found = frozenset(line.partition(":")[2].split())
                break
    if os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() in ("SSE41", "AVX", "AVX2"):
        found = frozenset(flag for flag in found if not flag.startswith(("avx512", "amx", "avx_vnni")))
    return found


def has_bf16(device: torch.device) -> bool:
    """Return whether the hardware multiplies bf16 matrices itself, rather than converting first."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and bool(cpu_flags() & {"avx512_bf16", "amx_bf16", "bf16"})


@functools.cache
def has_int8(device: torch.device) -> bool:
    """Try whether products of bytes are fast and exact here; older processors saturate sums of two products."""
    if device.type != "cpu" or not cpu_flags() & BYTE_PRODUCTS or not torch.backends.mkldnn.is_available():
        return False
    codes, weights = torch.full((16, 64), 255, dtype=torch.uint8), torch.full((16, 64), 127, dtype=torch.int8)
    ones, zeros = torch.ones(16), torch.zeros(16, dtype=torch.int64)
    try:
        packed = torch.ops.onednn.qlinear_prepack(weights, [16, 64])
        sums = torch.ops.onednn.qlinear_pointwise(
            codes, 1.0, 0, packed, ones, zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
    except (AttributeError, RuntimeError, TypeError):  # a build without these operators, or with others
        return False
    return bool((sums == 64 * 255 * 127).all())


def resolve_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """`auto` is bf16 where the machine has it and fp32 otherwise. Parameters and moments stay fp32 in both.

    Of `int8` it is the precision of everything but the layers' products, that of `auto`.
    Raises: ConfigError where bf16 or int8 is asked for and the machine would only imitate it slowly.
    """
    if precision not in get_args(Precision):
        raise ConfigError(f"precision {precision!r} is unknown; use {', '.join(map(repr, get_args(Precision)))}.")
    if precision == "int8" and not has_int8(device):
        raise ConfigError(
            "precision 'int8' needs a CPU that multiplies bytes (AVX512-VNNI, AVX-VNNI or AMX) and a PyTorch with "
            f"oneDNN; {_lacking(device)}. Use 'auto' or 'fp32'."
        )
    if precision == "fp32":
        return "fp32"
    if precision == "bf16" and not has_bf16(device):
        raise ConfigError(f"precision 'bf16' needs hardware that {device} lacks; use 'auto' or 'fp32'.")
    return "bf16" if has_bf16(device) else "fp32"


def autocast(precision: Literal["fp32", "bf16"], device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Matrix products in bf16 inside the block; losses and LayerNorm stay fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


@contextlib.contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Let equal inputs give equal bits inside the block on a GPU too, where some kernels add in the order of arrival.

    torch then takes kernels without atomic additions (gradients of tables, of gathered rows and of its own
    variable-length attention) and refuses an operator that has none. Matrix products need a workspace of a fixed size
    as well, which cuBLAS reads from the environment at its first product: it is set here, unless the user has set it.
    On a CPU nothing changes. Without `wanted` the block is as torch is set.
    """
    if not wanted:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    settings: Any = torch.utils.deterministic  # its attribute is made at run time, unseen by type checkers
    fills = settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    settings.fill_uninitialized_memory = False  # nothing reads what nothing has written
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        settings.fill_uninitialized_memory = fills


class HostCopy:
    """A tensor on its way to the host: the copy waits in the queue of the device, and the host goes on meanwhile."""

    def __init__(self, tensor: Tensor) -> None:
        self._values, self._copied = tensor, None
        if tensor.device.type == "cuda":
            self._values = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            self._values.copy_(tensor, non_blocking=True)
            self._copied = torch.cuda.Event()
            self._copied.record()

    def read(self) -> list[float]:
        """Return the values of a flat tensor; what the device was asked for after the copy is not waited for."""
        if self._copied is not None:
            self._copied.synchronize()
        return self._values.tolist()


def numerics_fingerprint(device: torch.device, precision: str) -> JsonObject:
    """Return the facts that two runs must share to give the same bits from the same samples."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _cpu_level()
    return {
        "torch": torch.__version__,
        "python": ".".join(map(str, sys.version_info[:2])),
        "system": f"{platform.system()} {platform.machine()}",
        "device": device.type,
        "device_name": name,
        "precision": precision,
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def _lacking(device: torch.device) -> str:
    if device.type != "cpu":
        return f"{device} is no CPU"
    if not cpu_flags() & BYTE_PRODUCTS:
        return f"this processor ({platform.machine()}, {platform.system()}) does not say that it has them"
    return f"torch {torch.__version__} here has no such products"


def _cpu_level() -> str:
    asked = os.environ.get("ATEN_CPU_CAPABILITY", "") or os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    level = torch.backends.cpu.get_cpu_capability()
    extra = [flag for flag in ("avx512_bf16", "amx_bf16") if flag in cpu_flags()]
    return " ".join([level, *extra, *([f"limited to {asked}"] if asked else [])])
