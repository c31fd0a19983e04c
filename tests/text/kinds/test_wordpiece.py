"""WordPiece keeps what BERT's does; with morphemes no piece holds a stem and its particle together."""

import json

import pytest

from spanwise.errors import ConfigError
from spanwise.text.corpus import CorpusOptions, Document
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

NOUNS = ["학교", "공부", "서울", "대한민국", "친구", "사과"]
KOREAN = [f"{noun}에서 {noun}를 {noun}의 {noun}는 {noun}가 {noun}에게" for noun in NOUNS]


def learned(**options):
    return learn_tokenizer([Document("here", 1, KOREAN * 5)], vocab_size=400, min_frequency=1, **options)


def test_pieces_never_cross_the_border_between_stem_and_particle(tmp_path):
    plain, morphemes = learned(), learned(boundaries="morphemes")
    assert plain.tokens(plain.encode("학교에서 서울의").ids) == ["학교에서", "서울의"]
    assert morphemes.tokens(morphemes.encode("학교에서 서울의").ids) == ["학교", "##에서", "서울", "##의"]
    mixed = {piece for piece in morphemes.tokens(range(5, morphemes.vocab_size)) if not piece.startswith("##")}
    assert not {piece for piece in mixed if piece[-1] in "를의는" and len(piece) > 2}
    assert morphemes.specials == plain.specials and morphemes.unk_id not in morphemes.encode(" ".join(KOREAN)).ids
    morphemes.save(tmp_path)
    assert (
        "morpheme" not in (tmp_path / "tokenizer.json").read_text() + (tmp_path / "tokenizer_config.json").read_text()
    )
    assert Tokenizer.load(tmp_path).sha256 == morphemes.sha256 == learned(boundaries="morphemes").sha256


def test_morphemes_keep_the_order_of_the_vocabulary():
    found = learned(boundaries="morphemes", num_unused=1)
    pieces = found.tokens(range(found.vocab_size))
    assert pieces[:6] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]"]
    alphabet = [piece for piece in pieces if len(piece) == 1]
    continuing = ["##" + piece for piece in alphabet]
    assert pieces[6 : 6 + 2 * len(alphabet)] == alphabet + continuing
    assert alphabet == sorted(alphabet) and {len(piece) for piece in pieces[6 + 2 * len(alphabet) :]} > {2}


def test_other_kinds_have_no_morphemes():
    with pytest.raises(ConfigError, match=r"boundaries='morphemes' is for kind='wordpiece'.*'unigram'"):
        learned(kind="unigram", boundaries="morphemes")


def test_korean_is_composed_unless_asked_to_stay_as_it_is(tmp_path):
    korean = learned()
    korean.save(tmp_path)
    record = json.loads((tmp_path / "tokenizer.json").read_text())
    assert [step["type"] for step in record["normalizer"]["normalizers"]] == ["NFC", "BertNormalizer"]
    with pytest.warns(UserWarning, match="does not compose"):
        plain = learned(unicode_form="as_is")
    assert json.loads(plain.copy_backend().to_str())["normalizer"]["type"] == "BertNormalizer"


def test_the_backend_splits_and_frames_as_bert_does():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]
    backend = wordpiece_backend({piece: n for n, piece in enumerate(pieces)}, lowercase=True, strip_accents=False)
    encoding = backend.encode("AB", "a")
    assert encoding.tokens == ["[CLS]", "a", "##b", "[SEP]", "a", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 0, 1, 1]


MIXED = "大韓民國에서 ㅋㅋㅋㅋ 웃던 친구가 ＡＢ마트의 iPhone15를 ﾊﾝ과 ﾡﾢ로 café에서 샀다ㅠㅠ 3.5%!"


@pytest.mark.parametrize("boundaries", ["words", "morphemes"])
def test_hanja_laughter_half_width_and_english_among_korean_are_known_and_words(boundaries):
    documents = [Document("here", 1, [MIXED, *KOREAN] * 5)]
    options = CorpusOptions(language="ko")
    korean = learn_tokenizer(documents, vocab_size=400, boundaries=boundaries, options=options)
    found = korean.encode(MIXED)
    assert korean.unk_id not in found.ids
    words = [found.offsets[found.word_ids == word] for word in range(found.word_ids.max() + 1)]
    assert [MIXED[word.min() : word.max()] for word in words] == [
        *"大韓民國", "에서", "ㅋㅋㅋㅋ", "웃던", "친구가", "ＡＢ마트의", "iPhone15를", "ﾊﾝ과", "ﾡﾢ로", "café에서",
        "샀다ㅠㅠ", "3", ".", "5", "%", "!",
    ]  # fmt: skip
    rare = korean.encode("ㅋㅋ 國 ＢＡ ﾝ honeP")  # none of these stands in the text as a word
    assert korean.unk_id not in rare.ids


def test_every_syllable_of_the_text_is_known_whatever_stands_around_it():
    syllables = [chr(code) for code in range(0xAC00, 0xD7A4, 7)]  # 1,596, each twice
    pairs = [first + second for first, second in zip(syllables, syllables[::-1], strict=True)]
    documents = [Document("here", 1, [f"{pair} 나는" for pair in pairs])]
    korean = learn_tokenizer(documents, vocab_size=4_000, options=CorpusOptions(language="ko"))
    turned = [pair[::-1] for pair in pairs]
    assert korean.unk_id not in korean.encode(" ".join([*syllables, *turned])).ids
    few = learn_tokenizer(documents, vocab_size=4_000, alphabet_size=1_000, options=CorpusOptions(language="ko"))
    assert few.unk_id in few.encode(" ".join(syllables)).ids
