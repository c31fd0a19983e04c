"""How many operators a training step starts, and how often it waits for the host, counted without a GPU.

    python benchmarks/operators.py [--recipes NAME...] [--compiled] [--graphs] [--json]

A small model on a fast GPU is as slow as its host starts operators, so their number stands in for what a GPU would
show. Every recipe takes a step with tensors that have shapes and no values (torch's device `meta`), where the code goes
the way that it goes on CUDA: one kernel of attention per pack, a fused AdamW, all products of the vocabulary. The step
is that of the training loop, on the bundled text; autocast is off, so what it converts to bf16 comes on top.

- operators: what the step hands to a device; views of tensors start nothing and are not counted;
- host reads: operators whose result the host needs before it can go on (`item`, `nonzero`, a copy to the CPU), between
  two log lines;
- host copies: tensors made on the host within the step, whose copy to the device makes the host wait.

With `--compiled` packs have one shape, and in place of the operators of compiled parts stand the kernels and library
calls that torch's compiler makes of them for a CPU; some 20 seconds per recipe. `--graphs` counts what the host starts
with `spanwise pretrain --compile graphs`: a pack's forward and backward are one graph, the update is another, and
copies of a pack to the memory of its graph count like operators.

`PYTHONPATH=OTHER_CHECKOUT/src` counts another state of the code, before a change.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import compiled_regions
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

RECIPES = ("spanbert-nano", "spanbert-mini", "spanbert-small", "spanbert-modern-small", "electra-mini", "albert-mini")
RECIPES += ("gpt1-mini", "spanbert-base", "spanbert-selection-mini")
READS = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "_unique2", "unique_consecutive"}
NO_WORK = {"detach", "alias", "lift_fresh", "empty", "empty_like", "new_empty", "empty_strided", "_unsafe_view"}
META = torch.device("meta")
MOST_PACKS = 2  # of a step; all packs of one recipe start the same operators


class Counting(TorchDispatchMode):
    """Counts operators while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self.copies: Counter[str] = Counter()
        self.is_paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing inside the block."""
        before, self.is_paused = self.is_paused, True
        yield
        self.is_paused = before

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        name = function.overloadpacket.__name__
        if name == "_fused_adamw_":  # has no form without values where the rate is a tensor, and returns nothing
            self.operators[name] += not self.is_paused
            return None
        if self.is_paused:
            return function(*arguments, **(named or {}))
        if name in READS or _waits_for_a_shape(name, arguments, named or {}):
            self.reads[name] += 1
            if name == "_local_scalar_dense":
                return 0.0
        found = function(*arguments, **(named or {}))
        given = [value for value in (*arguments, found) if isinstance(value, Tensor)]
        if name in ("_to_copy", "copy_") and any(value.is_meta for value in given):
            if not found.is_meta:
                self.reads[name] += 1
            elif not all(value.is_meta for value in given):
                self.copies[name] += 1
        if name not in NO_WORK and not function.is_view and any(value.is_meta for value in _tensors(arguments, found)):
            self.operators[name] += 1
        return found


def _waits_for_a_shape(name: str, arguments: tuple, named: dict) -> bool:
    """Whether the host waits until the device knows how much comes out."""
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in arguments[1])
    return name == "bincount" or (name == "repeat_interleave" and "output_size" not in named)


def _tensors(*values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += _tensors(*value)
    return found


def as_on_cuda(counting: Counting) -> None:
    """Make this process treat `meta` as it treats CUDA, where the code or torch asks for the device by name."""
    from torch.optim import adam
    from torch.utils import _foreach_utils

    from spanwise.nn import attention, dropout
    from spanwise.training import step

    def attend(qkv, sequences, num_heads, dropout=0.0, reach=attention.EVERYTHING, place=0):
        return attention._attend_varlen(qkv, sequences, num_heads, reach)

    def tolist(tensor: Tensor):
        counting.reads["tolist"] += 1
        return [1.0] * tensor.numel()

    enabled = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device="cuda": device != "meta" and enabled(device)
    attention.attend = attend
    dropout._fused = lambda: lambda x, keys, least, scale: torch.nn.functional.dropout(x, 0.1)  # compiled: one kernel
    step.autocast = lambda precision, device: contextlib.nullcontext()
    adam._device_dtype_check_for_fused = lambda *values, **named: None
    adamw = torch.optim.AdamW
    torch.optim.AdamW = lambda groups, **named: adamw(groups, **{**named, "fused": True})
    known = _foreach_utils._get_foreach_kernels_supported_devices
    _foreach_utils._get_foreach_kernels_supported_devices = lambda: [*known(), "meta"]
    Tensor.tolist = tolist


def keep_graphs(updater: Any, packs: list[Any], counting: Counting) -> bool:
    """Give an updater that has done a step the graphs of `training/compiled/graphs.py`; a replay counts as one. Returns
    whether all packs have one shape."""
    from spanwise.training.compiled.graphs import PackGraph, UpdateGraph

    def record(compute: Callable[[], None]) -> Callable[[], None]:
        with counting, counting.paused():
            compute()
        return lambda: counting.operators.update(["graph"])

    parameters = updater._trainable
    update = UpdateGraph(lambda: updater._apply(updater._norm, updater._rate), parameters, record)
    pack = PackGraph(packs[0], [*updater.model.loss_weights], updater._compute, parameters, record)
    updater.graphs.pack, updater.graphs.update = pack, update
    return all(map(pack.fits, packs))


def count(name: str, folder: Path, compiled: bool = False, graphs: bool = False) -> dict[str, Any]:
    """Count one step of a recipe, the second one: the first makes moments."""
    from spanwise.data.token_store import TokenStore
    from spanwise.pretraining.system import outline_model, training_source
    from spanwise.recipes import find
    from spanwise.training.compiled.graphs import Graphs
    from spanwise.training.optim import build_optimizer
    from spanwise.training.step import Updater
    from spanwise.training.timing import SectionTimer

    recipe, store = find(name), TokenStore.open(folder / "store")
    recipe = replace(recipe, batch=replace(recipe.batch, fixed=True)) if compiled or graphs else recipe
    counting = Counting()
    as_on_cuda(counting)
    source = training_source(recipe, store)
    model = outline_model(recipe, store.vocabulary.size).train()
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=META,
        precision="fp32",
        seed=0,
        max_grad_norm=recipe.training.max_grad_norm,
        timer=SectionTimer(META),
        **({"graphs": Graphs(print)} if graphs else {}),
    )
    begin = getattr(updater, "begin", updater.update)  # earlier states of the code read every step
    keyed = getattr(updater, "keyed", lambda step, pack: pack)
    packs = [[keyed(index + 1, pack).to(META) for pack in source.step(index)[:MOST_PACKS]] for index in (0, 1)]
    if compiled:
        compiled_regions.leave_out(model.regions(packs[0][0]), counting.paused)
    for step in (1, 2):
        for counter in (counting.operators, counting.reads, counting.copies):
            counter.clear()
        with counting:
            begin(step, packs[step - 1], 1e-3)
        if graphs and step == 1 and not keep_graphs(updater, [*packs[0], *packs[1]], counting):
            return {"operators": None}
    return {
        "recipe": name,
        "packs": len(packs[1]),
        "operators": counting.operators.total(),
        "reads": counting.reads.total(),
        "copies": counting.copies.total(),
        "most": dict(counting.operators.most_common(40)),
    }


def count_kernels(name: str, folder: Path) -> int:
    """Count what one pack starts in the compiled parts of a recipe's model, in a process of its own: one that has used
    torch's profiler on compiled code does not end by itself."""
    import multiprocessing

    mine, its = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_send_kernels, args=(its, name, folder))
    process.start()
    its.close()
    try:
        found = mine.recv()
    except EOFError:
        raise SystemExit(f"The compiled parts of {name} crashed while their kernels were counted.") from None
    process.kill()
    process.join()
    return found


def _send_kernels(to: Any, name: str, folder: Path) -> None:
    to.send(_num_kernels(name, folder))


def _num_kernels(name: str, folder: Path) -> int:
    from spanwise.data.token_store import TokenStore
    from spanwise.pretraining.system import build_model, training_source
    from spanwise.recipes import find

    store = TokenStore.open(folder / "store")
    recipe = compiled_regions.narrow(find(name))
    model = build_model(recipe, store.vocabulary.size).train()
    return compiled_regions.num_kernels(model, training_source(recipe, store).step(0)[0])


def make_store(folder: Path) -> None:
    """Prepare the bundled text."""
    from spanwise.data.prepare import prepare
    from spanwise.quickstart.bundle import open_bundle
    from spanwise.text.learn import learn_tokenizer

    with open_bundle() as bundle:
        tokenizer = learn_tokenizer(bundle.train_text, vocab_size=8_000, out=folder / "tokenizer", roles=("question",))
        prepare(bundle.train_text, tokenizer, folder / "store")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", nargs="+", default=RECIPES)
    parser.add_argument("--compiled", action="store_true", help="count compiled steps too")
    parser.add_argument("--graphs", action="store_true", help="count steps with CUDA graphs too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import multiprocessing

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_store(folder)
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as one:  # what is replaced stays inside
            rows = [one.apply(count, (name, folder)) for name in options.recipes]
            for row in rows if options.graphs else ():
                row["graphs"] = one.apply(count, (row["recipe"], folder, False, True))["operators"]
            for row in rows if options.compiled else ():
                name = row["recipe"]
                kernels = row["packs"] * count_kernels(name, folder)
                outside = one.apply(count, (name, folder, True))["operators"]
                row |= {"compiled": outside + kernels, "in_compiled_parts": kernels}
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        line = "{recipe:24} {packs:3} pack(s) {operators:6} operators {reads:3} reads {copies:3} copies".format(**row)
        line += f" {row['compiled']:6} compiled" if options.compiled else ""
        line += f" {row['graphs'] or '-':>6} with graphs" if options.graphs else ""
        print(line)


if __name__ == "__main__":
    main()
