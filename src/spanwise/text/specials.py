"""The special tokens of a vocabulary: which role each plays, and what they are called in each family."""

import re
from collections.abc import Collection, Iterable, Mapping

import tokenizers
from tokenizers import AddedToken, processors

from spanwise.errors import CheckpointError

SPECIAL_ROLES = ("pad", "unk", "cls", "sep", "mask")
SPECIAL_PIECES = {role: f"[{role.upper()}]" for role in SPECIAL_ROLES}  # BERT's, the first five ids of a learned one
_USUAL_PIECES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]", "<s>", "<cls>"),
    "sep": ("[SEP]", "</s>", "<sep>"),
    "mask": ("[MASK]", "<mask>"),
}
KNOWN_ROLES = ("question",)
"""Roles beside those of every encoder that folders of others have too: Splinter's [QUESTION]."""
_RESERVED = re.compile(r"\[unused\d+\]")


def role_piece(role: str) -> str:
    """Return the usual piece of a role: its name in capitals and brackets."""
    return f"[{role.upper()}]"


def is_reserved(piece: str) -> bool:
    """Return whether a piece is one of BERT's reserved pieces (`[unused7]`), which no text contains."""
    return bool(_RESERVED.fullmatch(piece))


def reserved_pieces(count: int) -> list[str]:
    """BERT's reserved pieces, for tokens that are given a meaning later."""
    return [f"[unused{number}]" for number in range(count)]


def special_pieces(vocabulary: Collection[str], named: Mapping[str, str], *, needs_all: bool) -> dict[str, str]:
    """The piece of each special role: as `named`, else the usual one that the vocabulary has; others are left out.

    Roles that are not those of every encoder are found only where they are named.
    Raises: CheckpointError for a named piece that the vocabulary lacks or, with `needs_all`, for any missing role.
    """
    found = {}
    missing = []
    for role in (*SPECIAL_ROLES, *(role for role in named if role not in SPECIAL_ROLES)):
        choices = (named[role],) if role in named else _USUAL_PIECES[role]
        present = [piece for piece in choices if piece in vocabulary]
        if present:
            found[role] = present[0]
        elif needs_all or role in named:
            missing.append(choices[0])
    if missing:
        raise CheckpointError(f"the vocabulary has no {', '.join(missing)}; these special tokens are needed.")
    return found


def with_specials(
    backend: tokenizers.Tokenizer,
    vocabulary: Mapping[str, int],
    specials: Iterable[str],
    frame: tuple[str, str, str] = ("[CLS]", "[SEP]", "[SEP]"),
) -> tokenizers.Tokenizer:
    """Return the tokenizer with those of the special pieces that the vocabulary has, and with the pieces of `frame`
    before, behind and between texts, where it has the first two.

    The second text is of type 1 where one piece parts the two, else (XLM-RoBERTa) of type 0.
    """
    present = [piece for piece in specials if piece in vocabulary]
    backend.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in present])
    first, last, between = frame
    if first in vocabulary and last in vocabulary:
        kind = 1 if between == last else 0
        middle = f" {last}:0" * (2 - kind)
        backend.post_processor = processors.TemplateProcessing(
            single=f"{first}:0 $A:0 {last}:0",
            pair=f"{first}:0 $A:0{middle} $B:{kind} {last}:{kind}",
            special_tokens=[(first, vocabulary[first]), (last, vocabulary[last])],
        )
    return backend
