"""Survey this machine and say how spanwise will use it: the facts behind `spanwise doctor`.

Every fact is looked up in a way that can't fail: a machine that hides one (a container, another system) gives None.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

NEEDED = ["torch", "numpy", "numba", "tokenizers", "safetensors", "huggingface_hub", "pydantic", "cyclopts", "rich"]
NEEDED += ["markdown-it-py", "sentencex", "sentencepiece", "PyYAML", "zstandard", "jinja2", "scipy", "bm25s"]
NEEDED += ["PyStemmer", "fsspec"]
# by extra, a module that nothing but the extra brings
EXTRAS = {"ko": "kiwipiepy", "parquet": "pyarrow", "documents": "pypdf", "tensorboard": "tensorboard", "spacy": "spacy"}
EXTRAS |= {"onnx": "onnxruntime", "transformers": "transformers", "serve": "fastapi", "track": "wandb"}
EXTRAS |= {"cluster": "datatrove", "ray": "ray", "bench": "datasets"}
HUGE_PAGES = "glibc.malloc.hugetlb=1"
MIN_MEMORY_GB, MIN_DISK_GB = 2.0, 2.0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Facts of a machine; sizes in GB (10^9 bytes), None where the machine does not say."""

    python: str
    system: str
    torch: str
    num_cores: int  # that this process may use
    num_threads: int  # that torch will use
    memory_gb: float | None  # that this process may use, a container's limit included
    memory_free_gb: float | None
    disk_free_gb: float  # where runs would be written
    gpus: tuple[str, ...]
    device: str  # chosen when nothing is asked for
    precision: str  # fp32 or bf16, chosen when nothing is asked for
    compiled_cache: str | None  # where compiled loops are kept; None: compiled anew in each process
    huge_pages: str  # "in use", "available" or "no"
    missing: tuple[str, ...]  # needed packages that are not installed
    extras: dict[str, bool]

    def advice(self) -> list[str]:
        """Return what could be better, each line with its cure; empty where nothing is amiss."""
        lines = [f"{name} is not installed: run pip install spanwise again." for name in self.missing]
        if self.huge_pages == "available":
            lines.append(f"Large memory pages may speed up training on CPU; try: export GLIBC_TUNABLES={HUGE_PAGES}")
        if self.compiled_cache is None:
            lines.append("No folder to keep compiled loops in (10 s more at each start): set NUMBA_CACHE_DIR.")
        if self.memory_gb is not None and self.memory_gb < MIN_MEMORY_GB:
            lines.append(f"{self.memory_gb:.1f} GB of memory is little: choose spanbert-tiny and small packs.")
        if self.disk_free_gb < MIN_DISK_GB:
            lines.append(f"{self.disk_free_gb:.1f} GB of disk is little for checkpoints: free some, or set --out.")
        if self.num_threads > self.num_cores:
            lines.append(f"torch uses {self.num_threads} threads on {self.num_cores} cores: unset OMP_NUM_THREADS.")
        return lines

    def to_record(self) -> dict:
        """Return the facts and the advice as a JSON-able record."""
        return {**asdict(self), "advice": self.advice()}


def survey_machine(folder: Path) -> Machine:
    """Return the facts of this machine; `folder` is where runs would be written."""
    import torch

    from spanwise.runtime.device import choose_device, resolve_precision

    device = choose_device(None)
    total, free = _memory()
    return Machine(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        torch=torch.__version__,
        num_cores=num_usable_cores(),
        num_threads=torch.get_num_threads(),
        memory_gb=total,
        memory_free_gb=free,
        disk_free_gb=shutil.disk_usage(_existing(folder)).free / 1e9,
        gpus=tuple(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())),
        device=str(device),
        precision=resolve_precision("auto", device),
        compiled_cache=_compiled_cache(),
        huge_pages=huge_pages(),
        missing=tuple(name for name in NEEDED if not _installed(name)),
        extras={extra: importlib.util.find_spec(name) is not None for extra, name in EXTRAS.items()},
    )


def num_usable_cores() -> int:
    """Return the cores that this process may run on: its affinity, and a container's share where there is one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _read("/sys/fs/cgroup/cpu.max").split()
    if len(share) == 2 and share[0].isdigit():
        cores = min(cores, max(1, int(share[0]) // int(share[1])))
    return cores


def huge_pages() -> str:
    """Return "in use", "available" (one setting away) or "no" for large pages under malloc."""
    kernel = _read("/sys/kernel/mm/transparent_hugepage/enabled", "[never]")
    if sys.platform != "linux" or "[never]" in kernel:
        return "no"
    asked = (
        "glibc.malloc.hugetlb=" in os.environ.get("GLIBC_TUNABLES", "") or os.environ.get("THP_MEM_ALLOC_ENABLE") == "1"
    )
    if asked or "[always]" in kernel:
        return "in use"
    library, release = platform.libc_ver()
    recent = library == "glibc" and tuple(int(part) for part in release.split(".")[:2]) >= (2, 35)
    return "available" if recent else "no"


def usable_memory() -> float | None:
    """Return the bytes of memory that this process may ever hold, `ulimit -v` included; None where nothing says it."""
    total, _ = _memory()
    known = [] if total is None else [total * 1e9]
    with contextlib.suppress(ImportError):  # Windows
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        known += [] if limit == resource.RLIM_INFINITY else [float(limit)]
    return min(known, default=None)


def _memory() -> tuple[float | None, float | None]:
    facts = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    total, free = (float(facts[k].split()[0]) * 1024 if k in facts else None for k in ("MemTotal", "MemAvailable"))
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    if limit.isdigit() and total is not None and free is not None:
        used = _read("/sys/fs/cgroup/memory.current").strip()
        total = min(total, float(limit))
        free = min(free, float(limit) - float(used or 0))
    return (None if total is None else total / 1e9, None if free is None else free / 1e9)


def _compiled_cache() -> str | None:
    """Return where code compiled from this package is kept."""
    from spanwise.runtime.compiled import package_cache_folder, private_cache_folder, writable

    named = os.environ.get("NUMBA_CACHE_DIR")
    for place in (Path(named) if named else package_cache_folder(), Path(__file__).parent / "__pycache__"):
        if place is not None and writable(place):
            return str(place)
    private = private_cache_folder()
    return str(private) if private else None


def _existing(folder: Path) -> Path:
    folder = folder.absolute()
    return next(parent for parent in [folder, *folder.parents] if parent.exists())


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _read(path: str, default: str = "") -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return default
