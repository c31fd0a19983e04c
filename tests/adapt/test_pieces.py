"""Words of a text that become pieces."""

import pytest

from spanwise.adapt.pieces import check_takes_pieces, choose_pieces
from spanwise.errors import CheckpointError
from spanwise.text.corpus import Document
from spanwise.text.extend import extend_tokenizer, with_special_pieces
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer


def document(*sentences):
    return Document("", 0, list(sentences))


@pytest.fixture(scope="module")
def nano():
    from spanwise.interop.sources import find_folder

    return Tokenizer.load(find_folder("spanwise-mini"))


def test_words_of_many_pieces_come_first_by_what_they_save(nano):
    often, seldom, rare = "spectrophotometry", "electrophoresis", "immunohistochemistry"
    assert all(len(nano.encode(word).ids) >= 3 for word in (often, seldom, rare))
    text = [document(f"The {often} of water, {often}!"), document(f"{seldom} 1234567 the water")] * 6
    text += [document(rare)] * 4  # four times are too few
    assert choose_pieces(text, nano, 10) == (often, seldom)
    assert choose_pieces(text, nano, 1) == (often,)
    assert choose_pieces([document("the water")] * 9, nano, 10) == ()


def test_the_order_of_a_text_does_not_change_the_choice(nano):
    words = ["spectrophotometry", "electrophoresis", "chromatographic"]
    text = [document(f"{word} was measured") for word in words for _ in range(5)]
    assert choose_pieces(text, nano, 3) == choose_pieces(text[::-1], nano, 3)


@pytest.mark.parametrize("kind", ["byte-bpe", "unigram"])
def test_other_kinds_of_vocabulary_are_refused_by_name(kind, tiny_text, nano):
    with pytest.raises(CheckpointError, match=kind):
        check_takes_pieces(learn_tokenizer(tiny_text, vocab_size=300, kind=kind), "START")
    check_takes_pieces(nano, "START")


def test_special_tokens_behind_the_pieces_keep_their_ids(nano):
    grown, _ = with_special_pieces(nano, ["[MARK]"])
    check_takes_pieces(grown, "START")
    extended = extend_tokenizer(grown, ["spectrophotometry"]).tokenizer
    assert extended.token_to_id("[MARK]") == grown.vocab_size - 1
    assert extended.encode("Spectrophotometry spectrophotometry").ids.tolist()[-1] == grown.vocab_size
    assert nano.roles == extended.roles and nano.roles["question"] == nano.vocab_size - 1


def test_other_added_tokens_behind_the_pieces_are_refused(nano):
    grown = extend_tokenizer(nano, ["New York"]).tokenizer
    with pytest.raises(CheckpointError, match="added tokens behind its pieces"):
        check_takes_pieces(grown, "START")
