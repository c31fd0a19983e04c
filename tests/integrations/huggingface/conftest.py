"""Tiny tokenizers of every kind, made here, and a vocabulary of numbered words for the laws."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from spanwise.integrations.huggingface import SpanMaskingCollator

sys.path.insert(0, str(Path(__file__).parent))
from toy_encoders import PlainEncoder, bert_of

TEXTS = [
    "The old river ran past a stone bridge, and into the quiet town where people sold bread. Unbelievable!",
    "안녕하세요 세계. 中文字 mixed text (with brackets) and the numbers 123, past a bridge.",
    "People ran; the town was quiet.",
]
WORDPIECE_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
KINDS = ("bert", "roberta", "gpt2", "deberta", "deberta_v2", "xlm_roberta", "albert", "modernbert")


def make_tokenizer(kind: str):
    """A tokenizer of transformers in the shape of one model family, learned from the lines above."""
    import transformers

    if kind == "modernbert":  # byte-level BPE behind BERT's specials, with an added token that is no special
        backend = Tokenizer(models.BPE(unk_token="[UNK]"))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        special = list(WORDPIECE_SPECIALS)
        trainer = trainers.BpeTrainer(
            vocab_size=350, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        backend.train_from_iterator(TEXTS * 5, trainer)
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        backend.add_tokens(["|||IP_ADDRESS|||"])
        names = {f"{name.strip('[]').lower()}_token": name for name in WORDPIECE_SPECIALS}
        return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    names = {
        "bert": "BertTokenizer",
        "roberta": "RobertaTokenizer",
        "gpt2": "GPT2Tokenizer",
        "deberta": "DebertaTokenizer",
        "deberta_v2": "DebertaV2Tokenizer",
        "xlm_roberta": "XLMRobertaTokenizer",
        "albert": "AlbertTokenizer",
    }
    blank = getattr(transformers, names[kind])()
    tokenizer = blank.train_new_from_iterator(TEXTS * 5, vocab_size=350, show_progress=False)
    if kind == "gpt2":
        tokenizer.add_special_tokens({"mask_token": "[MASK]"})
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


@pytest.fixture(scope="session")
def tokenizers_of():
    """Tokenizers by kind, made when first asked for."""
    made: dict = {}

    def get(kind: str):
        return made.setdefault(kind, None) or made.__setitem__(kind, make_tokenizer(kind)) or made[kind]

    return get


@pytest.fixture(params=KINDS)
def tokenizer(request, tokenizers_of):
    return tokenizers_of(request.param)


NUM_IDS, FIRST_PIECE = 500, 300  # ids 5 to 299 start words (5 to 14 are punctuation), 300 to 499 go on with them


@pytest.fixture(scope="session")
def numbered():
    """A WordPiece tokenizer whose pieces are numbers: the laws of masking need no text."""
    from transformers import PreTrainedTokenizerFast

    pieces = [*WORDPIECE_SPECIALS, *"!,.;:?()'-", *(f"w{i}" for i in range(15, FIRST_PIECE))]
    pieces += [f"##p{i}" for i in range(FIRST_PIECE, NUM_IDS)]
    backend = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    names = {f"{name.strip('[]').lower()}_token": name for name in WORDPIECE_SPECIALS}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


@pytest.fixture(scope="session")
def rows_of():
    """Make `count` rows [CLS] n pieces [SEP]; words have 1, 2, 3, 4 pieces with chances .82, .11, .05, .02."""

    def make(count: int, n: int, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        rows = []
        for _ in range(count):
            sizes = rng.choice(4, size=n, p=[0.82, 0.11, 0.05, 0.02]) + 1
            starts = np.zeros(int(sizes.sum()), dtype=bool)
            starts[np.cumsum(sizes) - sizes] = True
            first, other = rng.integers(5, FIRST_PIECE, n), rng.integers(FIRST_PIECE, NUM_IDS, n)
            rows.append(np.concatenate([[2], np.where(starts[:n], first, other), [3]]))
        return rows

    return make


@pytest.fixture(scope="session")
def encoded(tokenizers_of):
    """The lines above as examples of one kind of tokenizer."""

    def make(kind: str) -> list[dict]:
        tokenizer = tokenizers_of(kind)
        return [dict(tokenizer(text)) for text in TEXTS]

    return make


@pytest.fixture
def collate(numbered):
    """A collator over the numbered vocabulary with other options."""
    return lambda **options: SpanMaskingCollator(numbered, **options)


@pytest.fixture
def plain_encoder():
    torch.manual_seed(0)
    return PlainEncoder()


@pytest.fixture
def bert():
    """A random BERT of transformers, without dropout."""
    return bert_of()


@pytest.fixture
def batch_of(collate, rows_of):
    """A masked and padded batch of rows of unlike lengths over the numbered vocabulary."""

    def make(count: int = 4, **options) -> dict[str, torch.Tensor]:
        return collate(**options)([row[: 20 + 5 * i] for i, row in enumerate(rows_of(count, 60))])

    return make
