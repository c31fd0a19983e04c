"""Byte-level BPE, the tokenizer of RoBERTa (and GPT-2): any text is bytes, so nothing is ever unknown.

Special tokens have RoBERTa's ids: <s> 0, <pad> 1, </s> 2, <unk> 3, and <mask> the last. The blank before a word is part
of it (`Ġthe`), which is how words are told; the first word of a text has none.

Source: Liu et al. 2019 (RoBERTa).
"""

import json

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from spanwise.text.sample import Sample, Wanted
from spanwise.text.specials import reserved_pieces

SPECIALS = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>"}
MASK = "<mask>"
SMALLEST_VOCABULARY = 256 + len(SPECIALS) + 1


def byte_bpe_backend(
    vocabulary: dict[str, int],
    merges: list[tuple[str, str]],
    *,
    lowercase: bool = False,
    unicode_form: str = "as_is",
    add_prefix_space: bool = False,
) -> tokenizers.Tokenizer:
    """RoBERTa's tokenizer over a vocabulary and the pairs it joins, in order of their rank."""
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    steps = ([normalizers.NFC()] if unicode_form == "NFC" else []) + ([normalizers.Lowercase()] if lowercase else [])
    if steps:
        backend.normalizer = steps[0] if len(steps) == 1 else normalizers.Sequence(steps)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    backend.decoder = decoders.ByteLevel()
    present = [piece for piece in SPECIALS.values() if piece in vocabulary]
    backend.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in present])
    if MASK in vocabulary:  # it takes the blank before it, so that "a <mask> b" is three tokens
        backend.add_special_tokens([AddedToken(MASK, special=True, normalized=False, lstrip=True)])
    cls, sep = SPECIALS["cls"], SPECIALS["sep"]
    if cls in vocabulary and sep in vocabulary:
        backend.post_processor = processors.RobertaProcessing(
            (sep, vocabulary[sep]), (cls, vocabulary[cls]), trim_offsets=True, add_prefix_space=add_prefix_space
        )
    return backend


def learn(sample: Sample, wanted: Wanted) -> tokenizers.Tokenizer:
    """Learn a vocabulary: specials, reserved pieces, the 256 bytes, pieces in order of learning, <mask>."""
    empty = byte_bpe_backend({}, [], lowercase=not wanted.cased, unicode_form=wanted.unicode_form)
    trainer = trainers.BpeTrainer(
        vocab_size=wanted.vocab_size - 1,
        min_frequency=wanted.min_frequency,
        show_progress=False,
        special_tokens=[*SPECIALS.values(), *reserved_pieces(wanted.num_unused)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    empty.train_from_iterator(sample.sentences(blanks=True), trainer)
    vocabulary, merges = learned(empty)
    vocabulary[MASK] = len(vocabulary)
    return byte_bpe_backend(vocabulary, merges, lowercase=not wanted.cased, unicode_form=wanted.unicode_form)


def learned(backend: tokenizers.Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary and the merges of a trained BPE model."""
    model = json.loads(backend.to_str())["model"]
    return backend.get_vocab(), [(left, right) for left, right in model["merges"]]
