"""Compile every array loop of the data path once, so that no later run waits: `python -m spanwise.pretraining.warm`.

Compiled code is kept on disk (runtime/compiled), so this belongs to installation. It makes one real pack of every
masking scheme and every format from a small text of its own; what it makes is thrown away.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from spanwise.data.prepare import prepare_documents
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import FORMATS, ContiguousText, SingleSegment
from spanwise.pretraining.masking import GeometricSpans, NGrams, Replacement, SubwordTokens, WholeWords
from spanwise.pretraining.objectives import CausalLM, MaskedLM, ReplacedToken, SpanBoundary
from spanwise.pretraining.source import PretrainingSource
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer

_SENTENCES = [
    f"A {size} house stands at the {place}." for size in ("small", "tall", "wide") for place in ("sea", "gate")
]


def compile_loops() -> None:
    """Compile what is not on disk yet: seconds the first time, next to nothing afterwards."""
    documents = [Document("warm", 1, _SENTENCES), Document("warm", 2, _SENTENCES[::-1])]
    with tempfile.TemporaryDirectory(prefix="spanwise-warm-") as folder:
        tokenizer = learn_tokenizer(documents, vocab_size=100)
        prepare_documents(documents, tokenizer, Path(folder) / "store")
        store = TokenStore.open(Path(folder) / "store")
        geometric = GeometricSpans()
        released = replace(geometric, start="tokens", end="budget")
        for masking in (geometric, released, WholeWords(), SubwordTokens(), NGrams()):
            source = PretrainingSource(
                store,
                format=SingleSegment(max_length=16),
                masking=masking,
                replacement=Replacement(),
                objectives={"rtd": ReplacedToken()},
                corruption=Generator(objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()}),
                seed=0,
                max_tokens=64,
                max_targets=64,
            )
            source.step(0)
        for format in (*(kind(max_length=16) for kind in FORMATS), ContiguousText(document_end="separator")):
            table = format.blocks(store, 0, 0)
            pack = format.assemble(store, table, np.arange(table.num_blocks))
            CausalLM().targets(pack)


if __name__ == "__main__":
    compile_loops()
