"""Compile every array loop of the data path and of a training step once, so that no later run waits:
`python -m spanwise.pretraining.warm`.

Compiled code is kept on disk (runtime/compiled), so this belongs to installation. It makes one real pack of every
masking scheme and every format from a small text of its own; what it makes is thrown away.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_loss
from spanwise.pretraining.collate import PackParts
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import FORMATS, ContiguousText, SingleSegment
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    NGrams,
    RecurringSpans,
    Replacement,
    SubwordTokens,
    TaggedPhrases,
    TwoMaskings,
    WholeWords,
)
from spanwise.pretraining.objectives import CausalLM, MaskedLM, ReplacedToken, SpanBoundary
from spanwise.pretraining.source import PretrainingSource
from spanwise.runtime.device import autocast
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Encoding

_SENTENCES = [
    f"A {size} house stands at the {place}." for size in ("small", "tall", "wide") for place in ("sea", "gate")
]


class FirstTokens:
    """A tagger without a library: the first token of each sentence is an entity."""

    name, source = "entities", "first tokens"

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        return [(np.arange(len(encoding.ids)) == 0).astype(np.uint8) for encoding in encodings]


def compile_loops() -> None:
    """Compile what is not on disk yet: seconds the first time, next to nothing afterwards."""
    documents = [Document("warm", 1, _SENTENCES), Document("warm", 2, _SENTENCES[::-1])]
    with tempfile.TemporaryDirectory(prefix="spanwise-warm-") as folder:
        tokenizer = learn_tokenizer(documents, vocab_size=100)
        prepare(documents, tokenizer, Path(folder) / "store", taggers=[FirstTokens()])
        store = TokenStore.open(Path(folder) / "store")
        geometric = GeometricSpans()
        released = replace(geometric, start="tokens", end="budget")
        others = (WholeWords(), SubwordTokens(), NGrams(), TaggedPhrases(), RecurringSpans(), TwoMaskings())
        for masking in (
            geometric,
            released,
            *others,
            MaskingMixture(schemes={"spans": geometric, "pieces": SubwordTokens()}),
        ):
            parts = PackParts(
                format=SingleSegment(max_length=16),
                masking=masking,
                replacement=Replacement(),
                objectives={"rtd": ReplacedToken()},
                corruption=Generator(objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()}),
                max_tokens=64,
                max_targets=64,
            )
            PretrainingSource(store, parts, seed=0).step(0)
        for format in (*(kind(max_length=16) for kind in FORMATS), ContiguousText(document_end="separator")):
            table = format.blocks(store, 0, 0)
            pack = format.assemble(store, table, np.arange(table.num_blocks))
            CausalLM().targets(pack)
    for precision in ("fp32", "bf16"):
        _compile_step(precision)


def _compile_step(precision: Literal["fp32", "bf16"]) -> None:
    """Compile every loop of one step forward and backward, those of rotary positions among them."""
    config = EncoderConfig(
        vocab_size=60, hidden_size=16, num_layers=1, num_heads=2, intermediate_size=16, rotary_base=1e4
    )
    encoder = Encoder(config).train()
    ids = torch.zeros(2, dtype=torch.int64)
    with autocast(precision, torch.device("cpu")):
        rows = encoder(ids, ids, Sequences.from_lengths([2]))
        vocabulary_loss(rows, encoder.word_embedding, torch.zeros(64), ids, 60).sum.backward()


if __name__ == "__main__":
    compile_loops()
