"""What holds for every kind: the same on every run, the same elsewhere, safe for any text, words where words are."""

import json
import os
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

from spanwise.text.learn import KINDS, learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

HOSTILE = "[CLS] a [MASK] b[SEP] [PAD][UNK] [unused1] <mask> </s><s> <pad> <unk> ▁<pad> Ġ<mask> ##a <unk></w>"
TEXTS = [
    'The Banan of kiris\'s (TolorBanan) won 24-5, said: "Is it so?"',
    "한국어 문장은  짧다, 大韓民國의 학교에서는\n길다!",
    "``Bolor'' café ㅋㅋㅋㅋ ＡＢ ﾊﾝ 🙂 a\tb",
    "",
]


def everything(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_run_gives_the_same_files_whatever_the_hash_seed_and_the_threads(documents, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(documents[0].sentences[::3]), encoding="utf-8")
    code = (
        "import sys\nfrom spanwise.text.learn import learn_tokenizer\n"
        f"for kind in {list(KINDS)}:\n"
        "    learn_tokenizer(sys.argv[1], vocab_size=500, kind=kind, unicode_form='NFC').save(sys.argv[2] + kind)\n"
    )
    for run, (seed, threads, parallel) in enumerate([("1", "1", "false"), ("2", "4", "true")]):
        settings = {"PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": parallel}
        command = [sys.executable, "-c", code, text, f"{tmp_path}/{run}-"]
        subprocess.run(command, env=os.environ | settings, check=True, capture_output=True)
    for kind in KINDS:
        learn_tokenizer(text, vocab_size=500, kind=kind, unicode_form="NFC").save(tmp_path / f"2-{kind}")
        first, second, here = (everything(tmp_path / f"{run}-{kind}") for run in range(3))
        assert first == second == here, kind


@pytest.mark.parametrize("form", ["NFC", "as_is"])
def test_transformers_reads_the_folder_with_the_same_ids_roles_and_templates(kind, form, learned, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = learned(kind, form)
    tokenizer.save(tmp_path)
    model_type = {"wordpiece": "bert", "byte-bpe": "roberta", "bpe": "openai-gpt", "unigram": "albert"}[kind]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        ours = tokenizer.encode(text)
        found = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert found["input_ids"] == ours.ids.tolist()
        assert [list(pair) for pair in found["offset_mapping"]] == ours.offsets.tolist()
    assert len(theirs) == tokenizer.vocab_size and theirs.model_max_length == 512
    for role in ("pad", "unk", "cls", "sep", "mask"):
        number = getattr(theirs, f"{role}_token_id")
        assert getattr(tokenizer, f"{role}_id") == (-1 if number is None else number), role
    a, b = (tokenizer.encode(text).ids.tolist() for text in ("The Banan", "won"))
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    pair = theirs("The Banan", "won")
    if kind in ("wordpiece", "unigram"):
        assert pair["input_ids"] == [cls, *a, sep, *b, sep]
        assert pair["token_type_ids"] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
    else:
        assert pair["input_ids"] == ([cls, *a, sep, sep, *b, sep] if kind == "byte-bpe" else [*a, *b])
        assert "token_type_ids" not in pair
    theirs.save_pretrained(tmp_path / "theirs")
    again = Tokenizer.load(tmp_path / "theirs")
    for text in TEXTS:
        assert np.array_equal(again.encode(text).ids, tokenizer.encode(text).ids)


def test_the_other_case_of_every_kind_is_read_by_transformers_too(kind, documents, tmp_path):
    """Uncased WordPiece and byte-level BPE, cased GPT-1 and unigram."""
    from transformers import AutoTokenizer

    cased = not KINDS[kind].cased
    tokenizer = learn_tokenizer(documents, vocab_size=700, kind=kind, cased=cased, unicode_form="as_is")
    tokenizer.save(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        ours = tokenizer.encode(text)
        found = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert found["input_ids"] == ours.ids.tolist()
        assert [list(pair) for pair in found["offset_mapping"]] == ours.offsets.tolist()
    assert tokenizer.is_cased is Tokenizer.load(tmp_path).is_cased is cased
    assert (tokenizer.encode("BANAN").ids.tolist() == tokenizer.encode("banan").ids.tolist()) is not cased


def test_the_class_of_the_family_is_named_where_it_computes_the_same(learned, tmp_path):
    named = {}
    for kind in KINDS:
        for form in ("as_is", "NFC"):
            learned(kind, form).save(tmp_path / kind / form)
            config = json.loads((tmp_path / kind / form / "tokenizer_config.json").read_text())
            named[kind, form] = config["tokenizer_class"]
    assert [named[kind, "as_is"] for kind in KINDS] == [
        "BertTokenizer", "RobertaTokenizer", "OpenAIGPTTokenizer", "AlbertTokenizer",
    ]  # fmt: skip
    assert {named[kind, "NFC"] for kind in KINDS} == {"PreTrainedTokenizerFast"}


def test_saving_and_loading_keep_the_hash(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    assert Tokenizer.load(tmp_path).sha256 == tokenizer.sha256
    (tmp_path / "tokenizer_config.json").unlink()
    assert Tokenizer.load(tmp_path).sha256 == tokenizer.sha256


def test_user_text_never_becomes_a_special_id_after_any_way_of_loading(tokenizer, tmp_path):
    """A unigram model would find `<pad>` among its own pieces."""
    tokenizer.save(tmp_path)
    for each in (tokenizer, Tokenizer.load(tmp_path)):
        for text in (HOSTILE, HOSTILE.replace(" ", ""), *each.specials.values()):
            flat, _ = each.encode_flat([text])
            assert not set(flat.tolist()) & (each.special_ids - {each.unk_id}), text
            assert np.array_equal(each.encode(text).ids, flat)
    written = tokenizer.tokens(tokenizer.encode("a <pad> b").ids)
    assert len(written) > 3 and "<pad>" not in written


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(codec="utf-8")) | st.text(st.sampled_from("[]<>/MASKmasked#upn ▁Ġ한글")))
def test_any_text_gives_ordered_offsets_inside_it_and_no_special_id(tokenizer, text):
    found = tokenizer.encode(text)
    assert not set(found.ids.tolist()) & (tokenizer.special_ids - {tokenizer.unk_id})
    assert (found.offsets >= 0).all() and (found.offsets <= len(text)).all()
    assert (found.offsets[:, 0] <= found.offsets[:, 1]).all() and (np.diff(found.offsets[:, 0]) >= 0).all()
    assert np.array_equal(tokenizer.encode_flat([text])[0], found.ids)


def test_korean_in_parts_gives_the_same_ids_with_offsets_into_the_parts(tokenizer):
    for text in (TEXTS[1], "학교에서는 ㅋㅋㅋ 大韓民國의 café"):
        whole, parted = tokenizer.encode(text), tokenizer.encode(unicodedata.normalize("NFD", text))
        assert np.array_equal(parted.ids, whole.ids) and len(text) < len(unicodedata.normalize("NFD", text))
        for (start, end), (first, last) in zip(whole.offsets, parted.offsets, strict=True):
            piece = unicodedata.normalize("NFD", text)[first:last]
            assert unicodedata.normalize("NFC", piece).strip() == text[start:end].strip()


def test_decoding_gives_the_words_back(tokenizer):
    text = "the banan of kiris won"
    assert tokenizer.decode(tokenizer.encode(text).ids).strip() == text


ALPHABET = "Banolokrit's(),.-:?\" \n24한국어학교大中字é"
WORD_SPLITTER = pre_tokenizers.BertPreTokenizer()


def word_starts_of_bert(text):
    """Where BERT's words begin: the reference for every kind."""
    normal = normalizers.BertNormalizer(lowercase=False, strip_accents=False, handle_chinese_chars=False)
    chinese = "".join(f" {character} " if "\u4e00" <= character < "\ua000" else character for character in text)
    places = [
        place for place, character in enumerate(text) for _ in (" x " if "\u4e00" <= character < "\ua000" else "x")
    ]
    assert len(normal.normalize_str(chinese)) == len(places)
    return {places[start] for _, (start, _) in WORD_SPLITTER.pre_tokenize_str(normal.normalize_str(chinese))}


def shares_a_character(offsets, place):
    """Whether a token begins or ends inside a character, as tokens made of bytes may."""
    start, end = offsets[place]
    return (place > 0 and start < offsets[place - 1][1]) or (place + 1 < len(offsets) and offsets[place + 1][0] < end)


@settings(max_examples=80, deadline=None)
@given(text=st.text(st.sampled_from(ALPHABET), max_size=30))
def test_words_start_where_those_of_bert_do(tokenizer, text):
    """A blank that is a token alone begins the word behind it; half a character tells nothing."""
    expected = word_starts_of_bert(text)
    found = tokenizer.encode(text)
    starts = np.diff(found.word_ids, prepend=-1) > 0
    offsets = found.offsets.tolist()
    behind_blank = False
    for place, (start, end) in enumerate(offsets):
        if not text[start:end].strip():
            behind_blank = True
            continue
        start += len(text[start:end]) - len(text[start:end].lstrip())
        halves = shares_a_character(offsets, place) or (place and shares_a_character(offsets, place - 1))
        if not halves and not (behind_blank and not starts[place]):
            assert starts[place] == (start in expected), (text, start)
        behind_blank = False


def test_every_kind_is_shown_as_bert_writes_it(tokenizer):
    text = "the Bananolo, won"
    shown = tokenizer.readable(tokenizer.encode(text).ids)
    joined = " ".join(shown).replace(" ##", "").replace(" ,", ",").removeprefix("##")
    assert joined.lower().split() == text.lower().split() and len(shown) > 4  # a blank that is a piece alone is shown
    if tokenizer.mask_id >= 0:
        assert tokenizer.readable([tokenizer.mask_id]) == [tokenizer.specials["mask"]]


def test_offsets_of_transformers_are_ours_in_composed_text_and_the_ids_in_text_in_parts_too(kind, learned, tmp_path):
    """The library ends a token at the first part of its last syllable; README, Korean."""
    from transformers import AutoTokenizer

    tokenizer = learned(kind, "NFC")
    tokenizer.save(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    parted = unicodedata.normalize("NFD", "한국어 문장은 짧다")
    whole = unicodedata.normalize("NFC", parted)
    given = theirs([parted, whole], add_special_tokens=False, return_offsets_mapping=True)
    assert given["input_ids"][0] == given["input_ids"][1] == tokenizer.encode(parted).ids.tolist()
    assert [list(pair) for pair in given["offset_mapping"][1]] == tokenizer.encode(whole).offsets.tolist()
    assert given["offset_mapping"][0][-1][1] < len(parted) == tokenizer.encode(parted).offsets[-1, 1]


def test_text_that_spells_special_pieces_is_pieces_here_and_only_for_unigram_not_there(kind, learned, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = learned(kind, "as_is")
    tokenizer.save(tmp_path)
    text = "won <pad> [SEP] </s> Banan"
    ours = tokenizer.encode(text).ids.tolist()
    theirs = AutoTokenizer.from_pretrained(tmp_path)(text, add_special_tokens=False, split_special_tokens=True)
    specials = tokenizer.special_ids - {tokenizer.unk_id}
    assert not specials & set(ours)
    assert bool(specials & set(theirs["input_ids"])) is (kind == "unigram") is (theirs["input_ids"] != ours)
