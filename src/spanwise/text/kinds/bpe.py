"""Byte-pair encoding as GPT-1 has it: lower-cased words whose last piece ends in `</w>`; one special token, <unk>.

Differs: the authors clean text with ftfy and split it with spaCy; this is BERT's splitting, as in `transformers`.
Source: Radford et al. 2018 (GPT-1).
"""

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from spanwise.text.kinds.byte_bpe import learned
from spanwise.text.sample import Sample, Wanted
from spanwise.text.specials import reserved_pieces

UNKNOWN = "<unk>"
END = "</w>"


def bpe_backend(
    vocabulary: dict[str, int], merges: list[tuple[str, str]], *, lowercase: bool = True, unicode_form: str = "as_is"
) -> tokenizers.Tokenizer:
    """GPT-1's tokenizer over a vocabulary and the pairs it joins, in order of their rank.

    Lower-cased text loses its accents, as BERT's does; text in Unicode NFC keeps them, as Hangul would fall apart.
    """
    backend = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token=UNKNOWN, end_of_word_suffix=END, continuing_subword_prefix="")
    )
    if unicode_form == "NFC":
        cleaner = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
        backend.normalizer = normalizers.Sequence([normalizers.NFC(), cleaner])
    else:
        backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.BPEDecoder(suffix=END)
    if UNKNOWN in vocabulary:
        backend.add_special_tokens([AddedToken(UNKNOWN, special=True, normalized=False)])
    return backend


def learn(sample: Sample, wanted: Wanted) -> tokenizers.Tokenizer:
    """Learn a vocabulary: <unk>, reserved pieces, the alphabet, its word ends, then pieces in order of learning."""
    empty = bpe_backend({}, [], lowercase=not wanted.cased, unicode_form=wanted.unicode_form)
    specials = [UNKNOWN, *reserved_pieces(wanted.num_unused)]
    alphabet = sample.alphabet(
        empty.normalizer.normalize_str, wanted, room=wanted.vocab_size - len(specials), pieces_each=2
    )
    trainer = trainers.BpeTrainer(
        vocab_size=wanted.vocab_size,
        min_frequency=wanted.min_frequency,
        show_progress=False,
        # First come, first numbered: the library would number word ends in the order of a random hash table.
        special_tokens=specials + sorted(alphabet) + sorted(character + END for character in alphabet),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        end_of_word_suffix=END,
    )
    empty.train_from_iterator(sample.sentences(), trainer)
    return bpe_backend(*learned(empty), lowercase=not wanted.cased, unicode_form=wanted.unicode_form)
