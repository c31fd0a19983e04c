"""Which device computes, in which precision, with how many threads, and what must stay equal for equal bits."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from pathlib import Path
from typing import Any, Literal

import torch

from spanwise.errors import ConfigError

Precision = Literal["auto", "fp32", "bf16"]


def choose_device(name: str | None = None) -> torch.device:
    """The device named, or the best one present: CUDA, else the CPU.

    Raises: ConfigError for a name torch does not know or a device this machine has not.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device {name!r} is unknown; use 'cpu', 'cuda' or 'cuda:1'.") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        found = torch.cuda.device_count()
        raise ConfigError(f"device {name!r} is not in this machine (CUDA devices found: {found}); use 'cpu'.")
    return device


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Instruction sets of this processor as Linux names them; empty elsewhere."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 matrices itself, rather than converting first."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and bool(cpu_flags() & {"avx512_bf16", "amx_bf16", "bf16"})


def resolve_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """`auto` is bf16 where the machine has it and fp32 otherwise. Parameters and moments stay fp32 in both.

    Raises: ConfigError where bf16 is asked for and the machine would only imitate it slowly.
    """
    if precision == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    if precision == "bf16" and not has_bf16(device):
        raise ConfigError(f"precision 'bf16' needs hardware that {device} lacks; use 'auto' or 'fp32'.")
    return precision


def autocast(precision: Literal["fp32", "bf16"], device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Matrix products in bf16 inside the block; losses and LayerNorm stay fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def numerics_fingerprint(device: torch.device, precision: str) -> dict[str, Any]:
    """What two runs must share to give the same bits from the same samples."""
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


def _cpu_level() -> str:
    asked = os.environ.get("ATEN_CPU_CAPABILITY", "") or os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    level = torch.backends.cpu.get_cpu_capability()
    extra = [flag for flag in ("avx512_bf16", "amx_bf16") if flag in cpu_flags()]
    return " ".join([level, *extra, *([f"limited to {asked}"] if asked else [])])
