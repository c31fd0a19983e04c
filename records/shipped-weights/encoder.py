"""What an English encoder is worth before any task is taught: encoder.py DATA OUT [MODEL [PROBE...]]; again to go on.

Accuracy of pairs of BLiMP, of pairs of spans, F1 of chunks taught from 100 sentences (five draws), and of coreference
after ten epochs of OntoGUM, by the probes that measured nano. MODEL is a folder, or a name that ships (spanwise-mini),
and has an OUT of its own; without PROBE all four are measured. DATA holds text/en/wiki-valid, tagging/conll2000,
coref/ontogum and probes/blimp.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.interop.huggingface import read_folder
from spanwise.recipes import find
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes import find_probe
from spanwise.studies.probes.base import Context, Material, find_files
from spanwise.studies.probes.tagged import Chunks
from spanwise.text.tokenizers import Tokenizer

PROBES = {
    "minimal-pairs": find_probe("minimal-pairs"),
    "span-pairs": find_probe("span-pairs"),
    "chunks": Chunks(sizes=(100,)),
    "coreference": find_probe("coreference"),
}
DRAWS = {"chunks": 5}


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    name, *wanted = sys.argv[3:] or ["spanwise-mini"]
    out.mkdir(parents=True, exist_ok=True)
    model = read_folder(name).folder
    if not (out / "valid").exists():
        prepare(data / "text/en/wiki-valid.txt.xz", Tokenizer.load(model), out / "valid")
    valid, recipe = TokenStore.open(out / "valid"), find("spanbert-mini")
    for name in wanted or PROBES:
        probe = PROBES[name]
        found: dict[str, list[float]] = {}
        for seed in range(DRAWS.get(name, 1)):
            kept = out / f"{name}-{seed}.json"
            if not kept.exists():
                material = Material(
                    store=valid, valid=valid, files=find_files(probe, data), cuts=out / "cuts" / name, max_length=256
                )
                place = out / "probes" / f"{name}-{seed}"
                context = Context(
                    material=material, model=model, recipe=recipe, seed=seed, out=place, log=RunLog(place)
                )
                write_text_atomic(kept, json.dumps(probe.measure(context), indent=1) + "\n")
            for key, value in json.loads(kept.read_text("utf-8")).items():
                found.setdefault(key, []).append(value)
        for key, values in found.items():
            print(f"{name}: {key}: {np.mean(values):.2f} ({len(values)} draw(s), {np.std(values):.2f})", flush=True)


if __name__ == "__main__":
    main()
