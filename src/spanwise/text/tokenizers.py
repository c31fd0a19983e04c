"""Strings <-> ids: one thin class over the `tokenizers` library, safe for any text and honest about case.

User text never becomes a special id: `encode_special_tokens` is not kept by `tokenizer.json`, so it is set at every
load. A vocabulary with upper-case pieces is never lower-cased, whatever a folder's `tokenizer_config.json` says.

Letters: V vocabulary, n tokens of one text.
"""

from __future__ import annotations

import functools
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from spanwise.errors import CheckpointError, DataError
from spanwise.runtime.files import JsonObject
from spanwise.text.composition import compose
from spanwise.text.encoding import Encoding
from spanwise.text.specials import KNOWN_ROLES, SPECIAL_ROLES, is_reserved, role_piece, special_pieces
from spanwise.text.tokenizer_files import content_sha256, pipeline_steps, read_backend, word_marks, write_tokenizer
from spanwise.text.words import ends_word_table, starts_word_table, word_ids


class Tokenizer:
    """Turn text into ids and back. Make one with `Tokenizer.load` or `learn_tokenizer`.

    `pad_id`, `unk_id`, `cls_id`, `sep_id`, `mask_id` are the ids of the special tokens, -1 where the tokenizer has none
    (GPT-1's has <unk> alone); `roles` are the ids of special tokens that recipes ask for beside these, such as
    `question`; `vocab_size` is V; `folder` is where it was loaded from.
    """

    def __init__(self, backend: tokenizers.Tokenizer, *, specials: dict[str, str] | None = None, max_length: int = 512):
        """Wrap a library object, which is taken over: truncation and padding are switched off.

        `specials` maps a role (`pad`, `unk`, `cls`, `sep`, `mask`) to its piece where that is not the usual one, and
        every other role (`question`) to its own.
        Raises: CheckpointError where a special token that was named, or that WordPiece needs, is not in the vocabulary.
        """
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        self._backend = backend
        self._record = json.loads(backend.to_str())
        self.max_length = max_length
        self.folder: Path | None = None
        by_piece = backend.get_vocab(with_added_tokens=True)
        self.vocab_size: int = max(by_piece.values(), default=-1) + 1
        self._pieces = [""] * self.vocab_size
        for piece, number in by_piece.items():
            self._pieces[number] = piece
        added = backend.get_added_tokens_decoder()
        special = {token.content for token in added.values() if token.special}
        known = {role: role_piece(role) for role in KNOWN_ROLES if role_piece(role) in special}
        needs_all = self._record["model"]["type"] == "WordPiece"
        self.specials = special_pieces(by_piece, {**known, **(specials or {})}, needs_all=needs_all)
        ids = {role: by_piece[piece] for role, piece in self.specials.items()}
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (ids.get(role, -1) for role in SPECIAL_ROLES)
        self.roles: dict[str, int] = {role: number for role, number in ids.items() if role not in SPECIAL_ROLES}
        self.special_ids: frozenset[int] = frozenset(
            {number for number, token in added.items() if token.special}
            | {number for number, piece in enumerate(self._pieces) if not piece or is_reserved(piece)}
            | set(ids.values())
        )
        self._marks = marks = word_marks(backend)
        special_ids, unk_id = self.special_ids, self.unk_id
        self._starts_word = starts_word_table(self._pieces, special_ids=special_ids, unk_id=unk_id, marks=marks)
        self._ends_word = ends_word_table(self._pieces, special_ids=special_ids, unk_id=unk_id, marks=marks)
        if not marks.continuation:  # an added token is found whole, whatever is around it
            plain = [number for number, token in added.items() if number not in self.special_ids]
            self._starts_word[plain] = self._ends_word[plain] = True
        self._composes = any(step["type"] == "NFC" for step in pipeline_steps(self._record["normalizer"]))
        self._encoder = _without_special_pieces(self._record, self.special_ids) or backend

    @classmethod
    def load(cls, folder: str | Path) -> Tokenizer:
        """Open a folder with `tokenizer.json` or, maybe beside `tokenizer_config.json`, with `vocab.txt`, `vocab.json`
        and `merges.txt`, or `spiece.model`.

        Warns where a file asks to lower-case text for a vocabulary that has upper-case pieces, and keeps the case.
        Raises: CheckpointError where files are missing, damaged or lack a special token.
        """
        found = read_backend(Path(folder))
        try:
            loaded = cls(found.backend, specials=found.specials, max_length=found.max_length)
        except CheckpointError as cause:
            raise CheckpointError(f"{folder}: {cause}") from cause
        loaded.folder = Path(folder)
        return loaded

    def save(self, folder: str | Path) -> None:
        """Write `tokenizer.json`, `tokenizer_config.json` and, for older tools, `vocab.txt` or `vocab.json` with
        `merges.txt`; `AutoTokenizer` reads them and gives the same ids.

        Differs: of text that spells a special token (`<pad>`), where `AutoTokenizer` finds that token; of a unigram
        model even with `split_special_tokens=True`. Here it is always plain pieces. Where the tokenizer composes (NFC)
        and text is in parts (NFD), its offsets end before the last parts of a syllable, ours after them.
        """
        write_tokenizer(self._backend, Path(folder), self.specials, self.max_length)

    def copy_backend(self) -> tokenizers.Tokenizer:
        """Return a library object of the caller's own, equal to this one's."""
        return tokenizers.Tokenizer.from_str(self._backend.to_str())

    def encode(self, text: str) -> Encoding:
        """Tokens of one text, no special tokens added. Raises: DataError for half a surrogate pair."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Encoding]:
        """Tokens of many texts, on all cores. Raises: DataError for half a surrogate pair."""
        parted = [place for place, text in enumerate(texts) if self._composes and not _is_composed(text)]
        if not parted:
            return [self._encoding(found) for found in self._guarded(self._encoder.encode_batch, texts)]
        composed = {place: compose(texts[place]) for place in parted}
        whole = [composed[place][0] if place in composed else text for place, text in enumerate(texts)]
        encodings = [self._encoding(found) for found in self._guarded(self._encoder.encode_batch, whole)]
        for place, (_, places) in composed.items():
            encodings[place] = replace(encodings[place], offsets=places[encodings[place].offsets])
        return encodings

    def encode_flat(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The ids of k texts end to end [n] int32, and their lengths [k] int64. The fastest way; no offsets.

        Raises: DataError for half a surrogate pair.
        """
        encodings = self._guarded(self._encoder.encode_batch_fast, texts)
        lists = [encoding.ids for encoding in encodings]
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        flat: list[int] = []
        for ids in lists:
            flat += ids
        return np.array(flat, dtype=np.int32), lengths

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """Text of ids; special tokens are written out."""
        return self._backend.decode([int(number) for number in ids], skip_special_tokens=False)

    def tokens(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """The piece of each id. Raises: DataError for an id outside the vocabulary."""
        numbers = [int(number) for number in ids]
        for number in numbers:
            if not 0 <= number < self.vocab_size:
                raise DataError(f"id {number} is outside this vocabulary of {self.vocab_size:,} tokens.")
        return [self._pieces[number] for number in numbers]

    def readable(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """The piece of each id for a person, as BERT writes it whatever the kind: `##x` where no blank is before it.

        Raises: DataError for an id outside the vocabulary.
        """
        found, inside = [], False
        for number, piece in zip(ids, self.tokens(ids), strict=True):
            is_special = int(number) in self.special_ids
            found.append(piece if is_special else self._marks.readable(piece, inside=inside))
            inside = not is_special and not self._ends_word[number]
        return found

    def token_to_id(self, piece: str) -> int | None:
        """The id of a piece, or None."""
        return self._backend.token_to_id(piece)

    def starts_word_table(self) -> np.ndarray:
        """Return whether each id starts a word, [V] bool: not `##x`, not special; `[UNK]` does. Read-only use."""
        return self._starts_word

    def ends_word_table(self) -> np.ndarray:
        """Return whether what follows each id starts a word whatever it is, [V] bool. Read-only use."""
        return self._ends_word

    @functools.cached_property
    def texts(self) -> tuple[str, ...]:
        """The characters that each id stands for, [V], without marks and the blank before a word; empty for special
        tokens and for parts of a character."""
        return tuple(
            "" if number in self.special_ids else self._marks.characters(piece)
            for number, piece in enumerate(self._pieces)
        )

    @property
    def question_id(self) -> int:
        """The id of the token that stands for a span to be found elsewhere, -1 where there is none."""
        return self.roles.get("question", -1)

    @property
    def kind(self) -> str:
        """How words are cut, as `learn_tokenizer` names it: "wordpiece", "byte-bpe", "bpe" or "unigram"; other models
        have the library's name in small letters."""
        model = self._record["model"]["type"]
        in_bytes = any(step["type"] == "ByteLevel" for step in pipeline_steps(self._record["pre_tokenizer"]))
        return "byte-bpe" if model == "BPE" and in_bytes else model.lower()

    @property
    def is_cased(self) -> bool:
        """Return whether upper and lower case give different ids."""
        normalizer = self._backend.normalizer
        return normalizer is None or "A" in normalizer.normalize_str("A")

    @functools.cached_property
    def needs_blank(self) -> bool:
        """Return whether a word is written otherwise at the beginning of a text than inside it, as RoBERTa's and
        mmBERT's tokenizers do: a sentence that follows another must then be given with the blank before it."""
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer

        def written(text: str) -> str:
            text = text if normalizer is None else normalizer.normalize_str(text)
            return text if splitter is None else "".join(piece for piece, _ in splitter.pre_tokenize_str(text))

        return written("x x") != 2 * written("x")

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of all that decides ids: vocabulary, normaliser, pre-tokeniser, model, roles. Save and load keep it."""
        return content_sha256(self._backend, self.specials)

    @functools.cached_property
    def splits_words(self) -> bool:
        """Return whether a text's ids are those of its words and punctuation marks: no token looks past one."""
        splitters = pipeline_steps(self._record["pre_tokenizer"])
        plain_added = any(not token.special for token in self._backend.get_added_tokens_decoder().values())
        is_local = {step["type"] for step in pipeline_steps(self._record["normalizer"])} <= {"BertNormalizer", "NFC"}
        return is_local and [step["type"] for step in splitters] == ["BertPreTokenizer"] and not plain_added

    def __repr__(self) -> str:
        return f"Tokenizer(vocab_size={self.vocab_size}, is_cased={self.is_cased}, sha256={self.sha256[:12]})"

    def _encoding(self, encoding: tokenizers.Encoding) -> Encoding:
        ids = np.array(encoding.ids, dtype=np.int32)
        offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        return Encoding(ids, offsets, word_ids(ids, self._starts_word, self._ends_word))

    def _guarded(self, encode: Any, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        try:
            return encode(list(texts), add_special_tokens=False)
        except TypeError:
            for text in texts:
                if not isinstance(text, str):
                    raise TypeError(f"text is a {type(text).__name__}, expected a string") from None
                refuse_surrogates(text)
            raise


def _without_special_pieces(record: JsonObject, special_ids: frozenset[int]) -> tokenizers.Tokenizer | None:
    """The same tokenizer with special pieces that no text can match, or None where none can be matched anyhow.

    A unigram model looks for all of its pieces in the text, `<pad>` among them. A piece with a blank in it is never
    found, as blanks are written `▁` there.
    """
    if record["model"]["type"] != "Unigram":
        return None
    pieces = [
        [f" {number}", score] if number in special_ids else [piece, score]
        for number, (piece, score) in enumerate(record["model"]["vocab"])
    ]
    plain = [token for token in record["added_tokens"] if not token["special"]]
    model = {**record["model"], "vocab": pieces}
    content = {**record, "model": model, "added_tokens": plain, "post_processor": None}
    encoder = tokenizers.Tokenizer.from_str(json.dumps(content))
    encoder.encode_special_tokens = True
    return encoder


def _is_composed(text: object) -> bool:
    return not isinstance(text, str) or text.isascii() or unicodedata.is_normalized("NFC", text)


def refuse_surrogates(text: str) -> None:
    """Raises: DataError where `text` holds half a surrogate pair, which no file in UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise DataError(
            f"Text holds half a surrogate pair (U+{ord(text[cause.start]):04X}) at character {cause.start}. "
            "It was decoded wrongly; read it as UTF-8 with errors='replace', or repair it."
        ) from cause
