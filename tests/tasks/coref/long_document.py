"""Links a random document of so many words at BERT-base's width, and prints the peak memory above the model in MiB.

A program of its own, because a process remembers its peak: `python long_document.py NUM_WORDS DEPTH`.
"""

import gc
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.coref.conll import CoreferenceDocument
from spanwise.tasks.coref.documents import CoreferenceData
from spanwise.tasks.coref.task import Coreference
from spanwise.tasks.model import TaskModel
from spanwise.text.tokenizers import Tokenizer

MIB = 1 << 20


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / MIB


def peak() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def document(num_words: int) -> CoreferenceDocument:
    draw = np.random.default_rng(0)
    return CoreferenceDocument(
        name="long",
        words=tuple(f"w{number}" for number in draw.integers(0, 500, num_words)),
        sentence_borders=tuple(range(0, num_words + 1, 20)),
        speakers=("",) * num_words,
        clusters=(),
    )


def main(num_words: int, depth: int) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        words = [f"w{number}" for number in range(500)]
        Path(folder, "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
        tokenizer = Tokenizer.load(folder)
    # two layers: without gradients the memory of a pass does not depend on how many there are
    shape = {"hidden_size": 768, "num_layers": 2, "num_heads": 12, "intermediate_size": 3072, "max_positions": 512}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, initializer_range=0.05, **shape))
    initialize(encoder, encoder.config, seed=0)
    task = Coreference(depth=depth, max_segment_length=384)
    head = task.build_head(encoder.config)
    initialize(head, encoder.config, seed=0)
    model = TaskModel(task, encoder, head)

    def link(num_words: int) -> int:
        data = CoreferenceData(source="random", documents=(document(num_words),))
        features = task.featurize(data, tokenizer, encoder.config, training=False)
        (links,) = model.outputs(features)
        return len(links.start_k)

    link(60)  # what is compiled and loaded once is not the document's
    gc.collect()
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    num_spans = link(num_words)
    print(f"{peak() - before:.1f} {num_spans}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
