"""A SentencePiece model file read without its library: pieces, scores and the normalisation.

The file is one protocol buffer message; the few fields needed are picked out by their numbers.
Source: `sentencepiece_model.proto` of the SentencePiece project (a public format).
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import normalizers

from spanwise.errors import CheckpointError
from spanwise.runtime.files import JsonObject
from spanwise.text.kinds.unigram import backend_of, unigram_backend
from spanwise.text.specials import special_pieces

ALBERT, DEBERTA, XLM_ROBERTA = "spiece.model", "spm.model", "sentencepiece.bpe.model"
KINDS: dict[str, tuple[str, int | None]] = {
    ALBERT: ("ALBERT", 1),
    DEBERTA: ("DeBERTa", None),
    XLM_ROBERTA: ("XLM-RoBERTa", 0),
}
XLM_PIECES = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "[MASK]"

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3  # fields of the model
_UNIGRAM = 1  # trainer_spec.model_type
_UNKNOWN = 2  # pieces.type


def read_sentencepiece(content: bytes, path: Path, config: JsonObject) -> tokenizers.Tokenizer:
    """Return the tokenizer of a unigram model; `config` is the folder's `tokenizer_config.json`.

    The name of the file says whose it is. ALBERT's text (`spiece.model`) is lower-cased and loses its accents unless
    `do_lower_case` or `keep_accents` say otherwise; DeBERTa's and XLM-RoBERTa's is only normalised as the model says.
    Raises: CheckpointError for a damaged file and for models of other types.
    """
    pieces, unknown, character_map = _read_unigram(content, path)
    if path.name == ALBERT:
        lowercase = config.get("do_lower_case")
        return unigram_backend(
            pieces,
            lowercase=True if lowercase is None else bool(lowercase),
            keep_accents=bool(config.get("keep_accents")),
            character_map=character_map,
        )
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(character_map)] if character_map else []
    frame = ("[CLS]", "[SEP]", "[SEP]")
    if path.name == XLM_ROBERTA:  # fairseq's ids: its own specials stand before the model's fourth piece
        pieces = [(piece, 0.0) for piece in XLM_PIECES] + pieces[3:] + [("<mask>", 0.0)]
        unknown, frame = XLM_PIECES.index("<unk>"), ("<s>", "</s>", "</s></s>")
    else:
        if MASK not in dict(pieces):
            pieces.append((MASK, 0.0))
        if config.get("do_lower_case"):
            steps = [normalizers.Lowercase(), *steps]
    return backend_of(pieces, unknown, steps, special_pieces(dict(pieces), {}, needs_all=False).values(), frame)


def _read_unigram(content: bytes, path: Path) -> tuple[list[tuple[str, float]], int, bytes]:
    """Return pieces with their scores, the number of the unknown one, and the compiled normalisation."""
    pieces: list[tuple[str, float]] = []
    unknown, model_type, character_map = -1, _UNIGRAM, b""
    try:
        for number, value in _fields(content):
            if number == _PIECES:
                fields = dict(_fields(value))
                score = struct.unpack("<f", fields.get(2, bytes(4)))[0]
                if fields.get(3, 1) == _UNKNOWN:
                    unknown = len(pieces)
                pieces.append((fields[1].decode("utf-8"), score))
            elif number == _TRAINER:
                model_type = dict(_fields(value)).get(3, _UNIGRAM)
            elif number == _NORMALIZER:
                character_map = dict(_fields(value)).get(2, b"")
    except (IndexError, KeyError, ValueError, TypeError, AttributeError, struct.error) as cause:
        raise CheckpointError(f"{path} is no SentencePiece model, or is damaged ({cause!r}).") from cause
    whose, expected = KINDS[path.name]
    if model_type != _UNIGRAM or (unknown != expected if expected is not None else unknown < 0):
        where = "" if expected is None else f", unknown piece {expected}"
        raise CheckpointError(
            f"{path} is a SentencePiece model of another kind than {whose}'s (unigram{where}). Load it with "
            "transformers.AutoTokenizer, save_pretrained it to a folder and name that: tokenizer.json is read as it is."
        )
    return pieces, unknown, character_map


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an int, or bytes for what is longer."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == 2:
            length, place = _varint(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if place + length > len(message):
            raise ValueError("cut short")
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place
