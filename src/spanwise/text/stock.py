"""Which class of `transformers` a tokenizer is, so that `AutoTokenizer` gives the same ids as we do.

The library's classes build their pipeline anew from `tokenizer_config.json` and take only the vocabulary out of
`tokenizer.json`. So a class is named where what it builds is what we have, and the general class, which reads
`tokenizer.json` as it stands, everywhere else: with Unicode NFC, for instance.

Source: transformers 5 (`TokenizersBackend.convert_to_native_format`).
"""

import json
from collections.abc import Mapping
from typing import Any

import tokenizers
from tokenizers import normalizers

from spanwise.runtime.files import JsonObject
from spanwise.text.kinds.bpe import bpe_backend
from spanwise.text.kinds.byte_bpe import byte_bpe_backend
from spanwise.text.kinds.unigram import stock_normalizers, unigram_backend
from spanwise.text.specials import SPECIAL_ROLES

GENERAL_CLASS = "PreTrainedTokenizerFast"
_PIPELINE = ("normalizer", "pre_tokenizer")


def stock_class(record: JsonObject, specials: Mapping[str, str]) -> JsonObject:
    """The fields of `tokenizer_config.json` that name a class for the tokenizer whose JSON is `record`."""
    asks = f'"{specials.get("question")}"' in json.dumps(record["post_processor"])
    specials = {role: piece for role, piece in specials.items() if role in SPECIAL_ROLES}
    has_types = '"type_id": 1' in json.dumps(record["post_processor"])
    general = {
        "tokenizer_class": GENERAL_CLASS,
        "model_input_names": ["input_ids", *(["token_type_ids"] if has_types else []), "attention_mask"],
    }
    model = record["model"]
    ends = _ends(specials)
    if model["type"] == "WordPiece":
        if asks:
            return _splinter(record) or general
        return _bert(record) or general
    if model["type"] == "BPE" and model["end_of_word_suffix"]:
        if _same_pipeline(record, bpe_backend({}, [])):
            return {"tokenizer_class": "OpenAIGPTTokenizer"}
    elif model["type"] == "BPE":
        return _roberta(record, specials) or {**general, **ends}
    elif model["type"] == "Unigram":
        return _albert(record, specials) or {**general, **ends}
    return general


def _bert(record: JsonObject) -> JsonObject:
    normalizer = record["normalizer"] or {}
    if normalizer.get("type") != "BertNormalizer":
        return {}
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }


def _splinter(record: JsonObject) -> JsonObject:
    """Splinter's class puts [QUESTION] and a full stop between two texts, and gives no token types."""
    fields = _bert(record)
    return {**fields, "tokenizer_class": "SplinterTokenizer"} if fields and "." in record["model"]["vocab"] else {}


def _roberta(record: JsonObject, specials: Mapping[str, str]) -> JsonObject:
    for prefix in (False, True):
        if _same_pipeline(record, byte_bpe_backend({}, [], add_prefix_space=prefix)) and len(specials) == 5:
            mask = {"content": specials["mask"], "lstrip": True, "rstrip": False, "normalized": False}
            return {
                "tokenizer_class": "RobertaTokenizer",
                "add_prefix_space": prefix,
                "trim_offsets": True,
                "errors": "replace",
                "mask_token": {**mask, "single_word": False, "__type": "AddedToken"},
                **_ends(specials),
            }
    return {}


def _albert(record: JsonObject, specials: Mapping[str, str]) -> JsonObject:
    usual = specials.get("cls") == "[CLS]" and specials.get("sep") == "[SEP]" and record["model"]["unk_id"] == 1
    stock = unigram_backend([("", 0.0), ("?", 0.0)])
    for keep_accents in (False, True):
        for lowercase in (True, False):
            steps = stock_normalizers(lowercase=lowercase, keep_accents=keep_accents)
            stock.normalizer = normalizers.Sequence(steps)
            if usual and _same_pipeline(record, stock):
                return {
                    "tokenizer_class": "AlbertTokenizer",
                    "do_lower_case": lowercase,
                    "keep_accents": keep_accents,
                    "add_prefix_space": True,
                    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
                    **_ends(specials),
                }
    return {}


def _ends(specials: Mapping[str, str]) -> JsonObject:
    """RoBERTa and ALBERT begin a text with [CLS] and end it with [SEP], by their other names."""
    return {"bos_token": specials["cls"], "eos_token": specials["sep"]} if {"cls", "sep"} <= set(specials) else {}


def _same_pipeline(record: JsonObject, other: tokenizers.Tokenizer) -> bool:
    theirs = json.loads(other.to_str())
    return all(_plain(record[part]) == _plain(theirs[part]) for part in _PIPELINE)


def _plain(value: Any) -> Any:
    return json.dumps(value, sort_keys=True)
