"""A tokenizer with more tokens: old ids stay as they are, new ones follow them.

In a WordPiece vocabulary a new token that is one word becomes a piece like any other, so that `covid` also serves
`covids` (`covid ##s`); `##ology` becomes a continuation. What is no single word (`New York`, `C++`), and everything in
other kinds of vocabulary, becomes a plain added token of the library, which is found where no letter or digit touches
it. Such a token is not special: it can be hidden, and drawn as a random token.

Special pieces have a meaning that a recipe or a task gives them, and no text ever becomes one. That of a role
(`question`: `[QUESTION]`) takes the place of the last reserved piece (`[unusedN]`), so that no id changes; where a
vocabulary has none, it follows the last id.

Letters: V vocabulary before, k new tokens.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken

from spanwise.errors import CheckpointError, DataError
from spanwise.text.readers import read_lines
from spanwise.text.specials import is_reserved, role_piece
from spanwise.text.tokenizers import Tokenizer

MAX_CHARACTERS = 100  # WordPiece makes every longer word [UNK]


@dataclass(frozen=True, kw_only=True)
class Extension:
    """A tokenizer with k tokens more; new token i has the id V + i."""

    tokenizer: Tokenizer
    tokens: tuple[str, ...]  # [k] as they stand in the vocabulary
    old_ids: tuple[np.ndarray, ...]  # [k] the pieces that the old tokenizer made of each, [UNK] among them
    known: tuple[str, ...]  # asked for, but in the vocabulary already


def read_tokens(path: str | Path) -> list[str]:
    """Read a file of new tokens, one per line; blank lines and blanks around a token do not count.

    Raises: DataError for a file that is missing, no UTF-8 or empty.
    """
    tokens = [line.text.strip() for line in read_lines(Path(path)) if line.text.strip()]
    if not tokens:
        raise DataError(f"{path} names no token; write one per line.")
    return tokens


def extend_tokenizer(tokenizer: Tokenizer, tokens: Sequence[str]) -> Extension:
    """Return a copy of `tokenizer` that also has `tokens`; the given one stays as it is.

    A token is kept in the form that text has after the tokenizer's normaliser (an uncased one makes `COVID` `covid`).
    Raises: DataError for a token that no text can give, or that is too long.
    """
    backend = tokenizer.copy_backend()
    old_size = tokenizer.vocab_size
    pieces: dict[str, str] = {}  # piece -> what the old tokenizer is asked for its rows
    known: list[str] = []
    in_model = _takes_pieces(backend, old_size)
    added: list[str] = []
    for token in dict.fromkeys(tokens):
        piece, asked, is_word = _as_piece(backend, token, in_model)
        if tokenizer.token_to_id(piece) is not None or (not in_model and _is_one_token(tokenizer, token)):
            known.append(token)
        elif piece not in pieces:
            pieces[piece] = asked
            if not is_word:
                added.append(piece)
    words = [piece for piece in pieces if piece not in set(added)]
    backend = _with_pieces(backend, {piece: old_size + i for i, piece in enumerate(words)})
    backend.add_tokens([AddedToken(piece, single_word=True, normalized=True, special=False) for piece in added])
    ordered = [*words, *added]
    extended = Tokenizer(backend, specials=tokenizer.specials, max_length=tokenizer.max_length)
    for number, piece in enumerate(ordered):
        if extended.token_to_id(piece) != old_size + number:
            raise DataError(f"the tokenizer's ids have gaps, so {piece!r} got no place after the last one.")
    return Extension(
        tokenizer=extended,
        tokens=tuple(ordered),
        old_ids=tuple(tokenizer.encode(pieces[piece]).ids for piece in ordered),
        known=tuple(known),
    )


def takes_pieces(tokenizer: Tokenizer) -> bool:
    """Return whether new words become pieces like any other: in WordPiece with nothing but special tokens behind it."""
    return _takes_pieces(tokenizer.copy_backend(), tokenizer.vocab_size)


def word_splitter(tokenizer: Tokenizer) -> Callable[[str], list[str]]:
    """Return what cuts a text into the words that the tokenizer would make pieces of, after its normaliser."""
    backend = tokenizer.copy_backend()
    return lambda text: _words(backend, text)


def _is_one_token(tokenizer: Tokenizer, word: str) -> bool:
    """Return whether a word of a text is one token already, whatever mark it has for a blank or an end."""
    found = [tokenizer.encode(text).ids.tolist() for text in (word, f" {word}")]
    return any(len(ids) == 1 and ids != [tokenizer.unk_id] for ids in found)


def _takes_pieces(backend: tokenizers.Tokenizer, size: int) -> bool:
    """Return whether words can go into the model's own vocabulary: WordPiece whose added tokens are special."""
    record = json.loads(backend.to_str())
    return record["model"]["type"] == "WordPiece" and size == len(
        {**record["model"]["vocab"], **_special_ids(record["added_tokens"])}
    )


def _special_ids(added_tokens: list[dict[str, Any]]) -> dict[str, int]:
    return {token["content"]: token["id"] for token in added_tokens if token["special"]}


def _as_piece(backend: tokenizers.Tokenizer, token: str, in_model: bool) -> tuple[str, str, bool]:
    """Return the token as a piece, the text that stands for it, and whether the piece is one word of the model."""
    if not isinstance(token, str) or any(not character.isprintable() for character in token):
        raise DataError(f"{token!r} is no token: it holds characters that can't be printed; write one token a line.")
    prefix = getattr(backend.model, "continuing_subword_prefix", None) or "##"
    rest = token.removeprefix(prefix) if in_model and len(token) > len(prefix) else token
    words = _words(backend, rest)
    if not words:
        raise DataError(f"nothing is left of the token {token!r} after the tokenizer's normaliser; leave it out.")
    if max(map(len, words)) > MAX_CHARACTERS:
        raise DataError(f"the token {token[:20]!r}... has a word of more than {MAX_CHARACTERS} characters; shorten it.")
    if not in_model or len(words) > 1:
        return token, token, False
    return (words[0] if rest == token else prefix + words[0]), rest, True


def _words(backend: tokenizers.Tokenizer, text: str) -> list[str]:
    normal = backend.normalizer.normalize_str(text) if backend.normalizer else text
    if backend.pre_tokenizer is None:
        return [normal] if normal else []
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]


def _with_pieces(backend: tokenizers.Tokenizer, pieces: dict[str, int]) -> tokenizers.Tokenizer:
    if not pieces:
        return backend
    record = json.loads(backend.to_str())
    # special tokens that follow the pieces become pieces, as BERT's own are: the ids of a model have no gap
    record["model"]["vocab"].update({**_special_ids(record["added_tokens"]), **pieces})
    return tokenizers.Tokenizer.from_str(json.dumps(record))


def with_roles(tokenizer: Tokenizer, roles: Sequence[str]) -> Tokenizer:
    """Return the tokenizer with a piece for each role, itself where it has them all.

    Raises: CheckpointError where a text may hold such a piece, or where ids have gaps, so that a new one has no place.
    """
    for role in roles:
        if role in tokenizer.specials:
            continue
        piece = role_piece(role)
        _refuse_text(tokenizer, [piece])
        reserved = [name for name in tokenizer.tokens(range(tokenizer.vocab_size)) if is_reserved(name)]
        if tokenizer.token_to_id(piece) is None and reserved:
            last = max(reserved, key=lambda name: int(name.removeprefix("[unused").removesuffix("]")))
            tokenizer = _with_role(tokenizer, role, last)
        else:
            tokenizer = _with_special(tokenizer, [piece], {**tokenizer.specials, role: piece})
    return tokenizer


def with_roles_at(tokenizer: Tokenizer, ids: Mapping[str, int]) -> Tokenizer:
    """Return the tokenizer with the roles whose ids its model's config.json says, where these are reserved pieces.

    Raises: CheckpointError where the tokenizer gives such a role another id.
    """
    for role, number in ids.items():
        own = tokenizer.roles.get(role)
        if own is not None and own != number:
            raise CheckpointError(
                f"config.json says that {role_piece(role)} has the id {number}, and the tokenizer gives it {own}; they "
                "do not belong together."
            )
        if own is None and 0 <= number < tokenizer.vocab_size and is_reserved(tokenizer.tokens([number])[0]):
            tokenizer = _with_role(tokenizer, role, tokenizer.tokens([number])[0])
    return tokenizer


def _with_role(tokenizer: Tokenizer, role: str, reserved: str) -> Tokenizer:
    """Return the tokenizer with the usual piece of a role in the place of a reserved piece."""
    piece = role_piece(role)
    backend = _renamed(tokenizer.copy_backend(), reserved, piece)
    backend.add_special_tokens([AddedToken(piece, special=True, normalized=False)])
    return Tokenizer(backend, specials={**tokenizer.specials, role: piece}, max_length=tokenizer.max_length)


def with_special_pieces(tokenizer: Tokenizer, pieces: Sequence[str]) -> tuple[Tokenizer, tuple[str, ...]]:
    """Return the tokenizer with all of `pieces` as special tokens, and those that were added behind its last id.

    Raises: CheckpointError as `with_roles`.
    """
    _refuse_text(tokenizer, pieces)
    names = tuple(name for name in pieces if tokenizer.token_to_id(name) is None)
    return (_with_special(tokenizer, names, tokenizer.specials) if names else tokenizer), names


def _refuse_text(tokenizer: Tokenizer, pieces: Sequence[str]) -> None:
    for name in pieces:
        number = tokenizer.token_to_id(name)
        if number is not None and number not in tokenizer.special_ids:
            raise CheckpointError(
                f"the vocabulary has the piece {name!r} for texts, and it is needed with a meaning of its own; use a "
                "tokenizer without it."
            )


def _with_special(tokenizer: Tokenizer, names: Sequence[str], specials: dict[str, str]) -> Tokenizer:
    backend = tokenizer.copy_backend()
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    grown = Tokenizer(backend, specials=specials, max_length=tokenizer.max_length)
    new = [name for name in names if tokenizer.token_to_id(name) is None]
    wanted = list(range(tokenizer.vocab_size, tokenizer.vocab_size + len(new)))
    if [grown.token_to_id(name) for name in new] != wanted:
        raise CheckpointError("the tokenizer's ids have gaps, so new pieces got no place after the last one.")
    return grown


def _renamed(backend: tokenizers.Tokenizer, old: str, new: str) -> tokenizers.Tokenizer:
    """Return the tokenizer with another name for a piece that no text gives; its id stays."""
    record = json.loads(backend.to_str())
    vocabulary = record["model"]["vocab"]
    if isinstance(vocabulary, dict):
        record["model"]["vocab"] = {new if piece == old else piece: number for piece, number in vocabulary.items()}
    else:  # unigram: pieces with their scores, in order of id
        record["model"]["vocab"] = [[new if piece == old else piece, score] for piece, score in vocabulary]
    for token in record["added_tokens"]:
        token["content"] = new if token["content"] == old else token["content"]
    return tokenizers.Tokenizer.from_str(json.dumps(record))
