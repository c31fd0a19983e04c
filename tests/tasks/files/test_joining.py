"""A name for several files, and names that stand once."""

import pytest

from spanwise.tasks.files.joining import joined_name, told_apart


@pytest.mark.parametrize(
    ("sources", "name"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a and 2 more files")],
)
def test_several_files_have_a_short_name(sources, name):
    assert joined_name(sources) == name


def test_names_of_later_files_give_way_and_no_two_are_equal():
    found = told_apart([["x", "y"], ["x", "x (file 2)", "z"], ["x", "x (file 2)"]])
    assert found[0] == ["x", "y"]
    assert found[1][0] == "x (file 2)" and found[1][2] == "z"
    names = [name for here in found for name in here]
    assert len(set(names)) == len(names) == 7
