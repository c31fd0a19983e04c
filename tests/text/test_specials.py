"""Special tokens are found by the name a folder gives them, else by the names that the families use."""

import pytest

from spanwise.errors import CheckpointError
from spanwise.text.specials import is_reserved, reserved_pieces, special_pieces


def vocabulary(*pieces):
    return {piece: number for number, piece in enumerate(pieces)}


def test_the_names_of_each_family_are_known_and_a_given_name_comes_first():
    roberta = special_pieces(vocabulary("<s>", "<pad>", "</s>", "<unk>", "<mask>"), {}, needs_all=True)
    assert roberta == {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    named = special_pieces(vocabulary("[CLS]", "<start>"), {"cls": "<start>"}, needs_all=False)
    assert named == {"cls": "<start>"}


def test_roles_that_are_missing_are_left_out_or_named():
    assert special_pieces(vocabulary("<unk>", "a"), {}, needs_all=False) == {"unk": "<unk>"}
    with pytest.raises(CheckpointError, match=r"no \[PAD\], \[CLS\], \[SEP\], \[MASK\]"):
        special_pieces(vocabulary("<unk>", "a"), {}, needs_all=True)
    with pytest.raises(CheckpointError, match=r"no <gone>;"):
        special_pieces(vocabulary("<unk>", "a"), {"mask": "<gone>"}, needs_all=False)


def test_reserved_pieces_are_known_as_such():
    assert reserved_pieces(2) == ["[unused0]", "[unused1]"]
    assert all(map(is_reserved, reserved_pieces(3))) and not is_reserved("unused1")
