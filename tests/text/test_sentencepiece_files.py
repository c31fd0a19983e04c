"""A SentencePiece model alone is read as its own library reads it."""

import io
import random

import pytest
import sentencepiece
from transformers import AutoTokenizer

from spanwise.errors import CheckpointError
from spanwise.text.tokenizers import Tokenizer

SENTENCES = [f"the {word} of {word}ers won {word}s" for word in ("team", "town", "play", "sing", "walk", "call")] * 5


def model_bytes(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
        **{
            "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "pad_piece": "<pad>",
            "control_symbols": ["[CLS]", "[SEP]", "[MASK]"], "model_type": "unigram", **options,
        },
    )  # fmt: skip
    return model.getvalue()


@pytest.fixture(scope="module")
def content():
    return model_bytes()


def test_ids_are_those_of_the_library(content, tmp_path):
    (tmp_path / "spiece.model").write_bytes(content)
    ours = Tokenizer.load(tmp_path)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    assert (ours.pad_id, ours.unk_id, ours.cls_id, ours.sep_id, ours.mask_id) == (0, 1, 2, 3, 4)
    for text in ("the teamers won", "The  TOWN of ﬁne walks", "zzz", "", "<pad> [MASK]"):
        assert ours.encode(text).ids.tolist() == theirs.encode(text.lower()), text
    ours.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").sha256 == ours.sha256


def test_transformers_reads_what_we_save_of_it(content, tmp_path):
    (tmp_path / "spiece.model").write_bytes(content)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "keep_accents": true}')
    ours = Tokenizer.load(tmp_path)
    assert ours.is_cased
    ours.save(tmp_path / "saved")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "saved")
    for text in ("the teamers won", "The  TOWN of ﬁne walks"):
        assert theirs.encode(text, add_special_tokens=False) == ours.encode(text).ids.tolist()


def test_other_models_and_damage_are_refused_with_the_cure(content, tmp_path):
    path = tmp_path / "spiece.model"
    path.write_bytes(model_bytes(model_type="bpe"))
    with pytest.raises(CheckpointError, match=r"another kind than ALBERT's.*AutoTokenizer"):
        Tokenizer.load(tmp_path)
    path.write_bytes(model_bytes(pad_id=-1, unk_id=0))
    with pytest.raises(CheckpointError, match="another kind than ALBERT's"):
        Tokenizer.load(tmp_path)
    draw = random.Random(1)
    for _ in range(20):
        path.write_bytes(content[: draw.randrange(5, len(content) // 2)])
        with pytest.raises(CheckpointError, match=r"spiece\.model"):
            Tokenizer.load(tmp_path)


CASED = ("the teamers won", "The  TOWN of \ufb01ne walks", "zzz", "", "\ttowns\nwon  ")


@pytest.mark.parametrize("has_mask", [True, False])
def test_debertas_file_keeps_its_own_ids_and_a_mask_comes_last(has_mask, tmp_path):
    controls = ["[CLS]", "[SEP]", *(["[MASK]"] if has_mask else [])]
    content = model_bytes(control_symbols=controls, unk_id=3, unk_piece="[UNK]", pad_piece="[PAD]")
    (tmp_path / "spm.model").write_bytes(content)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    ours = Tokenizer.load(tmp_path)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    assert (ours.pad_id, ours.cls_id, ours.sep_id, ours.unk_id) == (0, 1, 2, 3)
    assert ours.mask_id == (4 if has_mask else theirs.get_piece_size()) and ours.is_cased
    for text in CASED:
        assert ours.encode(text).ids.tolist() == theirs.encode(text), text
    template = ours.copy_backend().encode("won", "won")
    assert [template.ids[0], template.ids[-1]] == [1, 2] and template.type_ids[0] == 0 and template.type_ids[-1] == 1
    assert template.ids.count(2) == 2
    ours.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").sha256 == ours.sha256
    stock = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert all(stock.encode(text, add_special_tokens=False) == ours.encode(text).ids.tolist() for text in CASED)
    assert stock.mask_token_id == ours.mask_id and stock("won", "won").input_ids == template.ids


def test_xlm_robertas_file_has_fairseqs_ids(tmp_path):
    content = model_bytes(control_symbols=[], unk_id=0, bos_id=1, eos_id=2, pad_id=-1, pad_piece="<pad>")
    (tmp_path / "sentencepiece.bpe.model").write_bytes(content)
    ours = Tokenizer.load(tmp_path)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    assert (ours.cls_id, ours.pad_id, ours.sep_id, ours.unk_id) == (0, 1, 2, 3)
    assert ours.mask_id == theirs.get_piece_size() + 1 == ours.vocab_size - 1
    for text in CASED:
        assert ours.encode(text).ids.tolist() == [number + 1 if number else 3 for number in theirs.encode(text)], text
    template = ours.copy_backend().encode("won", "won")
    assert template.ids.count(2) == 3 and set(template.type_ids) == {0}
