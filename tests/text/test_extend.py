"""More tokens: old ids stay, new ones follow, and other libraries read the same from the saved folder."""

import json

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers
from transformers import AutoTokenizer

from spanwise.errors import CheckpointError, DataError
from spanwise.text.corpus import Document
from spanwise.text.extend import extend_tokenizer, read_tokens, with_roles, with_special_pieces
from spanwise.text.learn import KINDS, learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

NEW = ["covid", "##ology", "New York", "C++", "汉字", "조사", "US Mint"]
TEXT = "covid covids covidology in New York, C++ (C++), 汉字 조사는 조사"


def test_old_ids_stay_and_new_ones_follow(tokenizer):
    found = extend_tokenizer(tokenizer, NEW)
    size = tokenizer.vocab_size

    assert sorted(found.tokens) == sorted(NEW) and found.known == ()
    assert found.tokenizer.vocab_size == size + len(NEW)
    assert found.tokenizer.tokens(range(size)) == tokenizer.tokens(range(size))
    assert found.tokenizer.tokens(range(size, size + len(NEW))) == list(found.tokens)
    assert found.tokenizer.special_ids == tokenizer.special_ids
    assert found.tokenizer.specials == tokenizer.specials


def test_the_given_tokenizer_stays_as_it_is(tokenizer):
    before = tokenizer.sha256
    found = extend_tokenizer(tokenizer, NEW)
    assert tokenizer.sha256 == before != found.tokenizer.sha256
    assert tokenizer.token_to_id("covid") is None


def test_new_words_are_found_as_wholes_and_serve_longer_words(tokenizer):
    found = extend_tokenizer(tokenizer, NEW).tokenizer
    ids = found.encode(TEXT).ids
    pieces = found.tokens(ids)

    assert pieces[0] == "covid" and pieces[1] == "covid" and pieces[2].startswith("##")
    assert pieces[pieces.index("##ology") - 1 : pieces.index("##ology") + 1] == ["covid", "##ology"]
    assert [pieces.count(token) for token in ("New York", "C++", "汉字", "조사")] == [1, 2, 1, 2]
    assert not set(ids.tolist()) & (found.special_ids - {found.unk_id})


def test_an_added_phrase_is_not_found_inside_a_word(tokenizer):
    found = extend_tokenizer(tokenizer, ["US Mint"]).tokenizer
    assert "US Mint" in found.tokens(found.encode("the US Mint.").ids)
    assert "US Mint" not in found.tokens(found.encode("the US Mints").ids)


def test_new_words_start_words_and_new_continuations_do_not(tokenizer):
    found = extend_tokenizer(tokenizer, NEW)
    starts = dict(zip(found.tokens, found.tokenizer.starts_word_table()[tokenizer.vocab_size :].tolist(), strict=True))
    assert starts == {token: token != "##ology" for token in NEW}


def test_the_pieces_that_a_token_was_made_of_are_told(tokenizer):
    found = extend_tokenizer(tokenizer, ["teamwon", "##ology"])
    for token, asked, ids in zip(found.tokens, ["teamwon", "ology"], found.old_ids, strict=True):
        assert np.array_equal(ids, tokenizer.encode(asked).ids), token


def test_text_without_new_tokens_is_encoded_as_before(tokenizer):
    found = extend_tokenizer(tokenizer, ["zyzzyva", "US Mint"]).tokenizer
    text = "Does the team of Denver play? 한국어 문장은 짧다. US, Mint"
    assert np.array_equal(found.encode(text).ids, tokenizer.encode(text).ids)


def test_a_vocabulary_of_words_alone_is_still_encoded_fast(tokenizer):
    """Each word is looked up once; an added phrase looks past words and forbids that."""
    assert extend_tokenizer(tokenizer, ["covid", "##ology"]).tokenizer.splits_words
    assert not extend_tokenizer(tokenizer, ["New York"]).tokenizer.splits_words


def test_an_uncased_vocabulary_takes_the_form_that_its_text_has():
    uncased = learn_tokenizer(
        [Document("here", 1, ["the old river ran past the town"] * 3)], vocab_size=80, cased=False
    )
    found = extend_tokenizer(uncased, ["COVID", "covid", "New York"])
    assert found.tokens == ("covid", "New York")
    assert found.tokenizer.tokens(found.tokenizer.encode("Covid in NEW YORK").ids)[-1] == "New York"


def test_tokens_that_are_there_are_left_out_and_named(tokenizer):
    found = extend_tokenizer(tokenizer, ["Denver", "[MASK]", "covid", "covid"])
    assert found.known == ("Denver", "[MASK]") and found.tokens == ("covid",)


@pytest.mark.parametrize("tokens", [["a\nb"], ["x" * 101], ["\u200b"], ["\x00"], [" "]])
def test_what_no_text_can_give_is_refused_by_name(tokenizer, tokens):
    with pytest.raises(DataError, match="token"):
        extend_tokenizer(tokenizer, tokens)


def test_the_saved_folder_gives_the_same_ids_everywhere(tokenizer, tmp_path):
    from transformers import AutoTokenizer

    found = extend_tokenizer(tokenizer, NEW).tokenizer
    found.save(tmp_path)
    loaded, theirs = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)

    assert loaded.sha256 == found.sha256 and loaded.vocab_size == found.vocab_size
    ids = found.encode(TEXT).ids
    assert np.array_equal(loaded.encode(TEXT).ids, ids)
    assert theirs(TEXT, add_special_tokens=False)["input_ids"] == ids.tolist()
    assert len(theirs) == found.vocab_size


def test_extending_twice_is_extending_once(tokenizer):
    once = extend_tokenizer(tokenizer, ["covid", "vaccine"]).tokenizer
    twice = extend_tokenizer(extend_tokenizer(tokenizer, ["covid"]).tokenizer, ["vaccine"]).tokenizer
    assert once.sha256 == twice.sha256
    behind = extend_tokenizer(extend_tokenizer(tokenizer, ["New York"]).tokenizer, ["vaccine"])
    assert behind.tokenizer.token_to_id("vaccine") == tokenizer.vocab_size + 1


def test_a_byte_level_vocabulary_grows_by_plain_added_tokens():
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=specials, show_progress=False)
    backend.train_from_iterator(["the old river ran past the town"], trainer)
    byte_level = Tokenizer(backend)

    found = extend_tokenizer(byte_level, ["covid"])

    assert found.tokenizer.vocab_size == byte_level.vocab_size + 1
    assert found.tokenizer.tokens(found.tokenizer.encode("the covid river").ids).count("covid") == 1
    assert "covid" not in found.tokenizer.tokens(found.tokenizer.encode("covids").ids)


@pytest.mark.parametrize("kind", ["byte-bpe", "bpe", "unigram"])
def test_a_word_that_is_one_token_already_is_not_taken_apart(kind):
    text = Document("here", 1, ["The old river ran past the old town by the river."] * 20)
    learned = learn_tokenizer([text], vocab_size=300, kind=kind)

    found = extend_tokenizer(learned, ["river", "covid"])

    assert found.known == ("river",) and found.tokens == ("covid",)
    assert found.tokenizer.encode("the river").ids.tolist() == learned.encode("the river").ids.tolist()


def test_a_file_of_tokens_is_read_line_by_line(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("\ufeffcovid\r\n\n  New York \n조사\n", encoding="utf-8")
    assert read_tokens(path) == ["covid", "New York", "조사"]
    path.write_text("\n \n")
    with pytest.raises(DataError, match="names no token"):
        read_tokens(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is UTF-16 text"):
        read_tokens(path)
    with pytest.raises(DataError, match=r"nowhere\.txt does not exist"):
        read_tokens(tmp_path / "nowhere.txt")


QUESTIONS = ["A [QUESTION] is asked: who owns the house at the sea gate of New York?"] * 4
ASKING = [Document("text", 1, QUESTIONS)]
SPELT = "the house [QUESTION] at [QUESTION]sea, [unused1] gate"


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return request.param


def learned(kind: str, **options) -> Tokenizer:
    size = 330 if kind == "byte-bpe" else 100
    return learn_tokenizer(ASKING, vocab_size=size, kind=kind, min_frequency=1, **options)


def test_a_role_is_reserved_while_learning_and_lives_in_the_files(kind, tmp_path):
    tokenizer = learned(kind, roles=("question",), num_unused=2)
    plain = learned(kind, num_unused=3)
    assert tokenizer.vocab_size == plain.vocab_size
    assert tokenizer.question_id == plain.token_to_id("[unused2]") >= 0 and plain.question_id == -1
    assert tokenizer.roles == {"question": tokenizer.question_id} and plain.roles == {}
    tokenizer.save(tmp_path)

    again, theirs = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)

    assert again.sha256 == tokenizer.sha256 != plain.sha256
    assert again.question_id == tokenizer.question_id
    assert theirs.convert_tokens_to_ids("[QUESTION]") == theirs.question_token_id == tokenizer.question_id
    assert "[QUESTION]" in theirs.all_special_tokens and len(theirs) == tokenizer.vocab_size
    assert "[QUESTION]" in json.loads((tmp_path / "tokenizer_config.json").read_text())["additional_special_tokens"]
    asked = theirs("the house [QUESTION] sea").input_ids
    assert asked.count(tokenizer.question_id) == 1
    again.save(tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again").sha256 == tokenizer.sha256


def test_no_text_becomes_it_and_no_other_id_changes(kind):
    plain = learned(kind, num_unused=2)
    tokenizer = with_roles(plain, ["question"])
    assert tokenizer.question_id == plain.token_to_id("[unused1]")
    for text in (SPELT, "[QUESTION]", " [QUESTION] "):
        found = tokenizer.encode(text).ids
        np.testing.assert_array_equal(found, plain.encode(text).ids)
        assert tokenizer.question_id not in found
    assert with_roles(tokenizer, ["question"]) is tokenizer


def test_without_a_reserved_piece_it_follows_the_last_id(kind):
    plain = learned(kind)
    tokenizer = with_roles(plain, ["question"])
    assert tokenizer.question_id == plain.vocab_size and tokenizer.vocab_size == plain.vocab_size + 1
    np.testing.assert_array_equal(tokenizer.encode(SPELT).ids, plain.encode(SPELT).ids)
    assert tokenizer.specials == {**plain.specials, "question": "[QUESTION]"}


def test_the_last_reserved_piece_is_taken_so_that_those_of_tasks_stay(kind):
    tokenizer = with_roles(learned(kind, num_unused=12), ["question"])
    assert tokenizer.token_to_id("[unused11]") is None
    assert all(tokenizer.token_to_id(f"[unused{number}]") is not None for number in range(11))


def test_special_pieces_are_added_once_and_a_piece_of_texts_is_refused(kind):
    plain = learned(kind)
    tokenizer, added = with_special_pieces(plain, ["[unused1]", "[unused2]"])
    assert added == ("[unused1]", "[unused2]") and tokenizer.vocab_size == plain.vocab_size + 2
    again, none = with_special_pieces(tokenizer, ["[unused2]"])
    assert again is tokenizer and none == ()
    number = next(number for number in range(plain.vocab_size) if number not in plain.special_ids)
    with pytest.raises(CheckpointError, match="for texts"):
        with_special_pieces(plain, plain.tokens([number]))


def test_a_folder_that_names_the_piece_alone_is_understood(tmp_path):
    """As Splinter's: a vocabulary of lines with [QUESTION] among them."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QUESTION]", "the", "house"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.question_id == 5 and 5 in tokenizer.special_ids
    assert 5 not in tokenizer.encode("the [QUESTION] house").ids
