"""Names beside transformers: the same labels taught to another encoder by its example's loop. peer.py START OUT DATA

START is a model folder or hub id, such as MiniLM of `records/minilm-init`; OUT is that of run.sh, whose file
names-train.conll is learned for `EPOCHS` epochs. Scores UNER EWT dev and WNUT-17 dev, and writes OUT/peer.json. Its
loop is that of `records/adaptation/table.py`: AdamW, a linearly falling rate, batches of 16, a label at the first piece
of each word.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from names import uner, wnut

from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import write_json
from spanwise.studies.probes.finetuned import usual_rate

sys.path.insert(0, str(Path(__file__).parents[1] / "adaptation"))
import table

EPOCHS = 1


def main() -> None:
    start, out, data = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    files = {"UNER EWT dev": out / "names-dev.conll", "WNUT-17 dev": out / "names-wnut.conll"}
    for file, lines in zip(files.values(), (uner(data), wnut(data, "emerging.dev.conll")), strict=True):
        file.write_text("".join(lines), encoding="utf-8")
    train = out / "names-train.conll"
    sentences = table.sentences_of(train.read_text(encoding="utf-8"))
    steps, rate = EPOCHS * len(sentences) // table.BATCH, usual_rate(read_folder(start).config.hidden_size)
    cell = table.Cell(task="tagging", arm="examples", labels=0, rate=1, seed=0)
    began = time.monotonic()
    scores = table.theirs(cell, start, train, files, steps, rate, out / "peer")
    told = {"start": Path(start).name, "steps": steps, "learning_rate": rate, "seconds": time.monotonic() - began}
    write_json(out / "peer.json", {**told, "f1": scores})
    print(told, scores)


if __name__ == "__main__":
    main()
