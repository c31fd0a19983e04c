"""A class of `transformers` is named only where it builds what we have."""

import json

from tokenizers import normalizers

from spanwise.text.kinds.byte_bpe import byte_bpe_backend
from spanwise.text.kinds.unigram import unigram_backend
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.stock import GENERAL_CLASS, stock_class

ROBERTA = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}


def record(backend):
    return json.loads(backend.to_str())


def roberta(**options):
    return byte_bpe_backend({piece: n for n, piece in enumerate(ROBERTA.values())}, [], **options)


def test_bert_says_its_case_and_any_other_normaliser_is_general():
    backend = wordpiece_backend({"[UNK]": 0}, lowercase=True, strip_accents=False)
    assert stock_class(record(backend), {}) == {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": False,
        "tokenize_chinese_chars": True,
    }  # fmt: skip
    backend.normalizer = normalizers.NFC()
    assert stock_class(record(backend), {})["tokenizer_class"] == GENERAL_CLASS


def test_roberta_keeps_its_prefix_its_ends_and_a_mask_that_takes_the_blank():
    for prefix in (False, True):
        found = stock_class(record(roberta(add_prefix_space=prefix)), ROBERTA)
        assert found["tokenizer_class"] == "RobertaTokenizer" and found["add_prefix_space"] is prefix
        assert (found["bos_token"], found["eos_token"], found["mask_token"]["lstrip"]) == ("<s>", "</s>", True)
    assert stock_class(record(roberta(lowercase=True)), ROBERTA)["tokenizer_class"] == GENERAL_CLASS
    assert stock_class(record(roberta()), {"unk": "<unk>"})["tokenizer_class"] == GENERAL_CLASS


def test_albert_is_told_from_other_unigram_models():
    pieces = [("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("▁a", -1.0)]
    specials = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    for lowercase in (True, False):
        for accents in (True, False):
            found = stock_class(record(unigram_backend(pieces, lowercase=lowercase, keep_accents=accents)), specials)
            assert (found["do_lower_case"], found["keep_accents"]) == (lowercase, accents)
            assert found["tokenizer_class"] == "AlbertTokenizer" and "token_type_ids" in found["model_input_names"]
    other = stock_class(record(unigram_backend(pieces)), {**specials, "cls": "<s>"})
    assert other["tokenizer_class"] == GENERAL_CLASS and other["bos_token"] == "<s>"
