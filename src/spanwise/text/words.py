"""Find where words start from ids alone: two tables over the vocabulary, looked up for any number of tokens.

A token starts a word where its own piece says so, or where the piece before it ends one. In WordPiece every piece does
but a continuation (`##x`), so each punctuation mark, `[UNK]` and single Chinese character is a word of its own.
Byte-level BPE, SentencePiece and Gemma's BPE mark the blank before a word, so there punctuation and Chinese characters
are looked for in the piece itself: they start a word, and what follows them starts the next; a blank that is a piece
alone goes with the letters behind it, before a punctuation mark it is a word. GPT-1 marks ends alone (`x</w>`). Special
tokens belong to no word.

Letters: V vocabulary, n tokens.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

_PUNCTUATION = range(33, 48), range(58, 65), range(91, 97), range(123, 127)  # ASCII; `$` and `^` are no P in Unicode
_CHINESE = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")  # SentencePiece writes a character that it has no piece for in bytes


@dataclass(frozen=True, kw_only=True)
class WordMarks:
    """How pieces show where words start. At most one of the three ways is set; with none, each piece is a word."""

    continuation: str = ""  # what pieces inside a word begin with: `##`
    blank: str = ""  # how the blank before a word is written: `▁`, or `Ġ` of byte-level BPE
    end: str = ""  # what a word's last piece ends with: `</w>`

    def starts_word(self, piece: str) -> bool:
        """Return whether a piece begins a word, wherever it stands."""
        if self.end:
            return False
        if not self.blank:
            return not (self.continuation and piece.startswith(self.continuation))
        text = self._text(piece)
        return bool(text) and (text[0].isspace() or is_word_of_its_own(text[0]))

    def ends_word(self, piece: str) -> bool:
        """Return whether what follows a piece begins a word, whatever it is."""
        if self.end:
            return piece.endswith(self.end)
        if not self.blank:
            return False
        text = self._text(piece)
        return bool(text) and text[-1] != " " and (text[-1].isspace() or is_word_of_its_own(text[-1]))

    def readable(self, piece: str, *, inside: bool) -> str:
        """A piece as BERT writes it: its characters, `##` before them where no blank is. A part of a character is �.

        `inside`: the piece before it did not end its word, which kinds that mark ends do not say otherwise.
        """
        if self.end:
            return ("##" if inside else "") + piece.removesuffix(self.end)
        if self.blank:
            text = self._text(piece) or "\ufffd"
            return text.strip() or " " if text[0].isspace() else "##" + text
        is_continuation = bool(self.continuation) and piece.startswith(self.continuation)
        return "##" + piece.removeprefix(self.continuation) if is_continuation else piece

    def characters(self, piece: str) -> str:
        """The characters of a piece without its mark and the blank before a word; empty for a part of a character."""
        if self.end:
            return piece.removesuffix(self.end)
        return self._text(piece).removeprefix(" ") if self.blank else piece.removeprefix(self.continuation)

    def _text(self, piece: str) -> str:
        """The characters a piece stands for; empty for a part of one."""
        try:
            if self.blank == BYTE_LEVEL_BLANK:
                return bytes(_BYTES[character] for character in piece).decode("utf-8")
            byte = _BYTE_PIECE.fullmatch(piece)
            return bytes.fromhex(byte[1]).decode("utf-8") if byte else piece.replace(self.blank, " ")
        except (KeyError, UnicodeDecodeError):
            return ""


def is_word_of_its_own(character: str) -> bool:
    """Return whether BERT takes a character for a word by itself: punctuation of any script, or a Chinese character."""
    code = ord(character)
    return (
        any(code in block for block in _PUNCTUATION)
        or unicodedata.category(character).startswith("P")
        or _CHINESE.match(character) is not None
    )


def _byte_alphabet() -> dict[str, int]:
    """The character that byte-level BPE writes for each byte: itself where it is visible in Latin-1, else one above."""
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


_BYTES = _byte_alphabet()
BYTE_LEVEL_BLANK = next(character for character, byte in _BYTES.items() if byte == ord(" "))  # U+0120
BERT_MARKS = WordMarks(continuation="##")


def starts_word_table(
    pieces: Sequence[str], *, special_ids: Collection[int], unk_id: int, marks: WordMarks = BERT_MARKS
) -> np.ndarray:
    """Return whether each id starts a word, [V] bool. The unknown token does; the other special tokens do not."""
    return _table([marks.starts_word(piece) for piece in pieces], special_ids, unk_id)


def ends_word_table(
    pieces: Sequence[str], *, special_ids: Collection[int], unk_id: int, marks: WordMarks = BERT_MARKS
) -> np.ndarray:
    """Return whether any token after each id starts a word, [V] bool. Behind a special token one always does.

    Behind the unknown token too where pieces mark ends, as it hides whether a word ended in it.
    """
    table = _table([marks.ends_word(piece) for piece in pieces], special_ids, -1)
    if unk_id >= 0:
        table[unk_id] = bool(marks.end)
    return table


def _table(values: list[bool], special_ids: Collection[int], unk_id: int) -> np.ndarray:
    table = np.array(values, dtype=bool)
    table[sorted(special_ids)] = False
    if unk_id >= 0:
        table[unk_id] = True
    return table


def word_starts(ids: np.ndarray, starts_word: np.ndarray, ends_word: np.ndarray) -> np.ndarray:
    """Return whether each token of a text starts a word, [n] bool; the first one always does. Both tables are [V]."""
    starts = starts_word[ids]
    starts[1:] |= ends_word[ids[:-1]]
    starts[:1] = True
    return starts


def word_ids(ids: np.ndarray, starts_word: np.ndarray, ends_word: np.ndarray) -> np.ndarray:
    """Number the words of a text from 0, [n] int32. A continuation without a beginning opens the first word."""
    return np.cumsum(word_starts(ids, starts_word, ends_word), dtype=np.int32) - np.int32(1)
