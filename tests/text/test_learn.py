"""A vocabulary is the same on every run, of the size asked for, and covers what it was learned from."""

import subprocess
import sys
import unicodedata
import warnings

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.text.corpus import Document
from spanwise.text.learn import KINDS, learn_tokenizer, unknown_share
from spanwise.text.tokenizers import Tokenizer

WORDS = [f"{first}{middle}{last}" for first in "BKTbkt" for middle in ("ana", "olo", "iri") for last in "nrsä"]
SENTENCES = [f"{one} {two}, {one}{two}." for one in WORDS for two in WORDS[::5]]


def learn(sentences=SENTENCES, **options):
    return learn_tokenizer([Document("here", 1, list(sentences))], **{"vocab_size": 200, **options})


def test_special_tokens_come_first_and_the_size_is_reached():
    found = learn(vocab_size=120, num_unused=2)
    assert found.tokens(range(7)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
    assert found.vocab_size == 120


def test_the_size_reached_is_told_where_the_text_has_too_few_words():
    found = learn(["one two one two"], vocab_size=500)
    assert found.vocab_size < 100
    assert found.tokens(found.encode("one two").ids) == ["one", "two"]


def test_the_order_of_the_text_and_the_run_change_nothing(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    code = (
        "import sys\nfrom spanwise.text.learn import learn_tokenizer\n"
        "print(learn_tokenizer(sys.argv[1], vocab_size=200).sha256)"
    )
    runs = {subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True).stdout.strip()}
    runs |= {learn_tokenizer(path, vocab_size=200).sha256, learn_tokenizer([str(path)], vocab_size=200).sha256}
    assert runs == {learn(reversed(SENTENCES)).sha256}


def test_a_word_of_known_characters_is_never_unknown():
    found = learn()
    assert found.unk_id not in found.encode("ränis sorik, okanati").ids


def test_rare_characters_leave_room_for_words():
    rare = "".join(chr(0x4E00 + number) for number in range(400))
    found = learn([*SENTENCES, rare])
    assert sum(piece in rare for piece in found.tokens(range(found.vocab_size))) < 65
    assert any(len(piece) > 3 for piece in found.tokens(range(5, found.vocab_size)))


def test_uncased_learning_lower_cases_but_keeps_accents_and_hangul():
    found = learn(["Käse KÄSE 한국어 " * 5], cased=False)
    assert not found.is_cased
    assert found.tokens(found.encode("KÄSE 한국어").ids) == ["käse", "한국어"]


def test_the_sample_is_capped():
    assert learn([*["aa bb"] * 10, *["zz yy"] * 10], max_characters=50).encode("zz").ids.tolist() == [1]


def test_a_learned_tokenizer_is_committed_to_its_folder(tmp_path):
    found = learn(out=tmp_path / "tokenizer")
    assert (tmp_path / "tokenizer" / "manifest.json").is_file()
    assert Tokenizer.load(tmp_path / "tokenizer").sha256 == found.sha256
    with pytest.raises(ConfigError, match="exists already"):
        learn(out=tmp_path / "tokenizer")


@pytest.mark.parametrize("sentences", [[], ["\x07 \x00"]])
def test_no_text_is_an_error(sentences):
    with pytest.raises(DataError, match="No text was given"):
        learn(sentences)
    with pytest.raises(DataError, match="No text was given"):
        learn_tokenizer([], vocab_size=200)


def test_korean_text_for_a_tokenizer_that_takes_it_apart_is_warned_of():
    with pytest.warns(UserWarning, match="takes its syllables apart.*--language ko"):
        learn(["한국어 문장은 짧다."] * 9, kind="bpe", unicode_form="as_is")
    with pytest.warns(UserWarning, match="does not compose Unicode.*NFD"):
        learn(["한국어 문장은 짧다."] * 9, unicode_form="as_is")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_of_korean_text_composes_without_being_asked(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = learn(["한국어 문장은 짧다."] * 9, kind=kind, vocab_size=300)
    parted = unicodedata.normalize("NFD", "한국어")
    assert found.encode(parted).ids.tolist() == found.encode("한국어").ids.tolist()
    assert found.encode(parted).offsets.max() == len(parted) > 3
    assert '"NFC"' not in learn(SENTENCES, kind=kind, vocab_size=300).copy_backend().to_str()


def test_the_unknown_share_is_that_of_the_tokens():
    found = learn(["aa bb"] * 9)
    assert unknown_share(found, [Document("here", 1, ["aa zz", "bb zz"])]) == 0.5
    assert unknown_share(found, [Document("here", 1, ["aa", "zz"])], max_characters=1) == 0.5
    assert unknown_share(learn(["aa bb"] * 9, kind="byte-bpe", vocab_size=300), [Document("here", 1, ["zz"])]) == 0.0


def test_options_that_cannot_work_are_refused():
    with pytest.raises(ConfigError, match=r"kind='wordpieces'.*Did you mean 'wordpiece'"):
        learn(kind="wordpieces")
    with pytest.raises(ConfigError, match="vocab_size=10 is too small"):
        learn(vocab_size=10)
    with pytest.raises(ConfigError, match="vocab_size=99999999999 is too large"):
        learn(vocab_size=99_999_999_999)
    for number in (0, 10**20):
        with pytest.raises(ConfigError, match="min_frequency"):
            learn(min_frequency=number)
    with pytest.raises(ConfigError, match="alphabet_size"):
        learn(alphabet_size=0)
    with pytest.raises(ConfigError, match="'byte-bpe' has the 256 bytes for its alphabet; leave alphabet_size out"):
        learn(kind="byte-bpe", vocab_size=300, alphabet_size=50)
    with pytest.raises(ConfigError, match=r"boundaries='morpheme'.* words, morphemes.*Did you mean 'morphemes'"):
        learn(boundaries="morpheme")
    with pytest.raises(ConfigError, match=r"unicode_form='nfc'.* NFC, as_is.*Did you mean 'NFC'"):
        learn(unicode_form="nfc")


def test_a_vocabulary_of_the_size_that_a_warning_names_knows_every_syllable():
    text = [Document("here", 1, [" ".join(chr(0xAC00 + 7 * number) * 2 for number in range(200))] * 2)]
    with pytest.warns(UserWarning, match="no room for 53 of the 200 syllables") as warned:
        small = learn_tokenizer(text, vocab_size=300)
    needed = int(str(warned[0].message).partition("takes vocab_size=")[2].partition(",")[0])
    assert warned[0].filename == __file__ and unknown_share(small, text) > 0.1
    assert unknown_share(learn_tokenizer(text, vocab_size=needed), text) == 0
