"""WordPiece, the tokenizer of BERT, SpanBERT and ELECTRA: words split at blanks and punctuation, longest piece first.

Learned with morpheme borders, a word's stem and its particles are cut apart before pairs are counted, so that no piece
holds parts of both; the pieces of all but the first are continuations (`##x`). The result is a plain vocabulary.

Source: Devlin et al. 2019 (BERT). The training rule is the `tokenizers` library's: pairs by count, as
in byte-pair encoding.
"""

from collections.abc import Iterator
from itertools import islice, pairwise

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from spanwise.text.morphemes import MorphemeAnalyser
from spanwise.text.sample import Sample, Wanted
from spanwise.text.specials import KNOWN_ROLES, SPECIAL_PIECES, reserved_pieces, role_piece, with_specials

_CONTINUATION = "##"
_AT_ONCE = 512  # sentences that are analysed together
_FIRST_STAND_IN = 0x100000  # a plane of Unicode for private use; BERT's normaliser lets none of it pass


def wordpiece_backend(
    vocabulary: dict[str, int],
    *,
    lowercase: bool,
    strip_accents: bool,
    chinese_characters: bool = True,
    unicode_form: str = "as_is",
) -> tokenizers.Tokenizer:
    """BERT's tokenizer over a vocabulary: clean, split at white space and punctuation, longest piece first."""
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL_PIECES["unk"]))
    cleaner = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese_characters, strip_accents=strip_accents, lowercase=lowercase
    )
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), cleaner]) if unicode_form == "NFC" else cleaner
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix=_CONTINUATION)
    return with_specials(backend, vocabulary, (*SPECIAL_PIECES.values(), *map(role_piece, KNOWN_ROLES)))


def learn(sample: Sample, wanted: Wanted) -> tokenizers.Tokenizer:
    """Learn a vocabulary: specials, reserved pieces, the alphabet, its continuations, pieces in order of learning."""

    def backend(vocabulary: dict[str, int]) -> tokenizers.Tokenizer:
        return wordpiece_backend(
            vocabulary, lowercase=not wanted.cased, strip_accents=False, unicode_form=wanted.unicode_form
        )

    empty = backend({})
    specials = [*SPECIAL_PIECES.values(), *reserved_pieces(wanted.num_unused)]
    alphabet = sample.alphabet(
        empty.normalizer.normalize_str, wanted, room=wanted.vocab_size - len(specials), pieces_each=2
    )
    continuing = [
        character
        for character in alphabet
        if len(empty.pre_tokenizer.pre_tokenize_str(empty.normalizer.normalize_str("a" + character))) == 1
    ]
    if wanted.boundaries == "morphemes":
        return backend(_learn_from_morphemes(sample, wanted, empty, specials, alphabet, continuing))
    trainer = trainers.WordPieceTrainer(
        vocab_size=wanted.vocab_size,
        min_frequency=wanted.min_frequency,
        show_progress=False,
        # First come, first numbered: this fixes the ids of the alphabet. They are plain pieces again below.
        special_tokens=specials + sorted(alphabet) + sorted(_CONTINUATION + character for character in continuing),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
    )
    empty.train_from_iterator(sample.sentences(), trainer)
    return backend(empty.get_vocab())


def _learn_from_morphemes(
    sample: Sample,
    wanted: Wanted,
    splitter: tokenizers.Tokenizer,
    specials: list[str],
    alphabet: list[str],
    continuing: list[str],
) -> dict[str, int]:
    """Pieces of morphemes, by byte-pair encoding over words in which a continuing character has another letter."""
    stand_ins = {character: chr(_FIRST_STAND_IN + place) for place, character in enumerate(sorted(continuing))}
    back = {stand_in: character for character, stand_in in stand_ins.items()}
    letters = sorted(alphabet) + sorted(back)
    plain = tokenizers.Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=wanted.vocab_size,
        min_frequency=wanted.min_frequency,
        show_progress=False,
        special_tokens=specials + letters,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
    )
    plain.train_from_iterator(_morphemes(sample, splitter, set(alphabet), stand_ins), trainer)

    def piece(learned: str) -> str:
        text = "".join(back.get(character, character) for character in learned)
        return _CONTINUATION + text if learned[0] in back else text

    return {piece(learned): number for learned, number in plain.get_vocab().items()}


def _morphemes(
    sample: Sample, splitter: tokenizers.Tokenizer, alphabet: set[str], stand_ins: dict[str, str]
) -> Iterator[str]:
    """Sentences as morphemes with blanks between. Those with a character outside the alphabet are left out."""
    splitter.model = models.WordLevel({SPECIAL_PIECES["unk"]: 0}, unk_token=SPECIAL_PIECES["unk"])  # a word, a token
    splitter.encode_special_tokens = True
    splitter.post_processor = None
    analyser = MorphemeAnalyser()
    left = sample.sentences()
    while sentences := list(islice(left, _AT_ONCE)):
        words = splitter.encode_batch(sentences)
        for sentence, borders, encoding in zip(sentences, analyser.borders(sentences), words, strict=True):
            units = []
            for start, end in encoding.offsets:
                cuts = [start, *sorted(border for border in borders if start < border < end), end]
                for first, last in pairwise(cuts):
                    text = "".join(splitter.normalizer.normalize_str(sentence[first:last]).split())
                    if text and set(text) <= alphabet:
                        opening = text[0] if first == start else stand_ins.get(text[0], "")
                        units.append(opening + "".join(stand_ins.get(character, "") for character in text[1:]))
            yield " ".join(units)
