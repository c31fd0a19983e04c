"""Unigram pieces as SentencePiece learns them, the tokenizer of ALBERT: the likeliest way to cut a word.

Learned by the `sentencepiece` library and run by `tokenizers`. The trainer of the latter reads words in the order of a
randomly seeded hash table, and no two runs agree on a score; that of the former gives the same bytes every time.

Source: Kudo 2018; Lan et al. 2020 (ALBERT).
"""

import io
from collections import Counter
from collections.abc import Iterable

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from spanwise.errors import DataError
from spanwise.text.sample import Sample, Wanted
from spanwise.text.specials import reserved_pieces, with_specials

SPECIALS = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
BLANK = "\u2581"


def unigram_backend(
    pieces: list[tuple[str, float]],
    *,
    lowercase: bool = True,
    keep_accents: bool = False,
    unicode_form: str = "as_is",
    character_map: bytes = b"",
) -> tokenizers.Tokenizer:
    """ALBERT's tokenizer over pieces and their log-probabilities. Piece 1 is the unknown one.

    `character_map` is a SentencePiece model's own normalisation, compiled. Text in Unicode NFC keeps its accents.
    """
    steps = stock_normalizers(lowercase=lowercase, keep_accents=keep_accents, character_map=character_map)
    if unicode_form == "NFC":
        steps = [normalizers.NFC(), *stock_normalizers(lowercase=lowercase, keep_accents=True)]
    return backend_of(pieces, 1, steps, SPECIALS.values())


def backend_of(
    pieces: list[tuple[str, float]],
    unknown: int,
    steps: list[normalizers.Normalizer],
    specials: Iterable[str],
    frame: tuple[str, str, str] = ("[CLS]", "[SEP]", "[SEP]"),
) -> tokenizers.Tokenizer:
    """Return a unigram tokenizer over pieces; `frame` stands before, behind and between texts."""
    # All that a 32-bit number knows, and few enough digits for the library to read them back from JSON unchanged.
    pieces = [(piece, float(f"{score:.9g}")) for piece, score in pieces]
    backend = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=unknown, byte_fallback=False))
    backend.normalizer = normalizers.Sequence(steps)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme="always")]
    )
    backend.decoder = decoders.Metaspace(replacement=BLANK, prepend_scheme="always")
    return with_specials(backend, {piece: number for number, (piece, _) in enumerate(pieces)}, specials, frame)


def stock_normalizers(*, lowercase: bool, keep_accents: bool, character_map: bytes = b"") -> list:
    """The steps of ALBERT's own text clean-up, as `transformers` builds them."""
    steps: list = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not keep_accents:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if lowercase:
        steps.append(normalizers.Lowercase())
    if character_map:
        steps.append(normalizers.Precompiled(character_map))
    return steps


def learn(sample: Sample, wanted: Wanted) -> tokenizers.Tokenizer:
    """Learn a vocabulary: specials, reserved pieces, then pieces, the likeliest first."""
    import sentencepiece

    names = list(SPECIALS.values())
    reserved = reserved_pieces(wanted.num_unused)

    def backend(pieces: list[tuple[str, float]]) -> tokenizers.Tokenizer:
        return unigram_backend(
            pieces, lowercase=not wanted.cased, keep_accents=wanted.cased, unicode_form=wanted.unicode_form
        )

    normalize = backend([(name, 0.0) for name in names]).normalizer.normalize_str
    room = wanted.vocab_size - len(names) - len(reserved)
    alphabet = sample.alphabet(normalize, wanted, room=room - 1, pieces_each=1)  # one piece is the blank's
    words: Counter[str] = Counter()
    for sentence in sample.sentences():
        words.update(normalize(sentence).split())
    known = {*alphabet, BLANK}
    counted = [(word, count) for word, count in sorted(words.items()) if known.issuperset(word)]
    if not counted:
        raise DataError("No text was given to learn a vocabulary from: no word is made of its alphabet alone.")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(f"{word}\t{count}" for word, count in counted),
        input_format="tsv",
        model_writer=model,
        model_type="unigram",
        vocab_size=wanted.vocab_size,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        character_coverage=1.0,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        pad_piece=SPECIALS["pad"],
        unk_piece=SPECIALS["unk"],
        control_symbols=[*names[2:], *reserved],
        num_threads=1,  # sums over words come out alike on every machine
        minloglevel=2,
    )
    found = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return backend([(found.id_to_piece(number), found.get_score(number)) for number in range(found.get_piece_size())])
