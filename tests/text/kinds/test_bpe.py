"""GPT-1's byte-pair encoding: one special token, words by their ends."""

from spanwise.text.tokenizers import Tokenizer


def test_there_is_an_unknown_token_and_no_other_special(learned):
    bpe = learned("bpe", "as_is")
    assert bpe.specials == {"unk": "<unk>"} and bpe.unk_id == 0
    assert (bpe.pad_id, bpe.cls_id, bpe.sep_id, bpe.mask_id) == (-1, -1, -1, -1)
    assert not bpe.is_cased and not bpe.starts_word_table()[1:].any()


def test_words_end_in_their_mark_and_the_next_begins_there(learned):
    bpe = learned("bpe", "as_is")
    found = bpe.encode("The Banansorin won, 漢won")
    pieces = bpe.tokens(found.ids)
    ends = [word != following for word, following in zip(found.word_ids, [*found.word_ids[1:], -1], strict=True)]
    for piece, last in zip(pieces, ends, strict=True):
        assert piece.endswith("</w>") == last or piece == "<unk>"
    assert found.word_ids.max() == 5 and len(pieces) > 5


def test_accents_go_as_in_the_original_and_stay_with_nfc(learned):
    plain, composing = learned("bpe", "as_is"), learned("bpe", "NFC")
    assert plain.encode("CAFÉ").ids.tolist() == plain.encode("cafe").ids.tolist()
    assert composing.encode("CAFÉ").ids.tolist() == composing.encode("café").ids.tolist()
    assert composing.encode("café").ids.tolist() != composing.encode("cafe").ids.tolist()


def test_vocabulary_and_merges_alone_are_the_same_tokenizer(learned, tmp_path):
    bpe = learned("bpe", "as_is")
    bpe.save(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    assert Tokenizer.load(tmp_path).sha256 == bpe.sha256
