"""Packs of the bundled English and Korean text, cut by the tokenizers of the shipped models."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import numpy as np

import spanwise
from spanwise.data.token_store import vocabulary_of
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.packs import Pack
from spanwise.text.tokenizers import Tokenizer

PACKAGE = Path(spanwise.__file__).parent
TEXTS = {
    "en": ("quickstart/corpus/wiki-valid.txt.xz", "weights/mini"),
    "ko": ("quickstart/corpus/ko/wiki-valid.txt.xz", "weights/nano-ko"),
}


@cache
def real_pack(language: str, length: int = 512, num_sequences: int = 60) -> tuple[Pack, Tokenizer, Vocabulary]:
    """[CLS] text [SEP] sequences of `length` tokens, with the tokenizer and its counts in the whole text."""
    file, folder = TEXTS[language]
    tokenizer = Tokenizer.load(PACKAGE / folder)
    text = lzma.decompress((PACKAGE / file).read_bytes()).decode("utf-8")
    encoding = tokenizer.encode(text.replace("\n", " "))
    inner = length - 2
    assert len(encoding.ids) >= num_sequences * inner
    ids_SL = encoding.ids[: num_sequences * inner].reshape(-1, inner)
    words_SL = (np.diff(encoding.word_ids, prepend=-1) > 0)[: ids_SL.size].reshape(-1, inner)

    def framed(rows, first, last):
        edge = np.ones((num_sequences, 1), dtype=rows.dtype)
        return np.concatenate([edge * first, rows, edge * last], axis=1).ravel()

    pack = Pack(
        input_ids=framed(ids_SL, tokenizer.cls_id, tokenizer.sep_id).astype(np.int64),
        token_type_ids=np.zeros(num_sequences * length, dtype=np.int64),
        borders=np.arange(num_sequences + 1) * length,
        maskable=framed(np.ones_like(ids_SL), 0, 0).astype(bool),
        starts_word=framed(words_SL, False, False),
        block_ids=np.arange(num_sequences),
    )
    return pack, tokenizer, vocabulary_of(tokenizer, np.bincount(encoding.ids, minlength=tokenizer.vocab_size))
