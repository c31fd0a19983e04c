"""Where a recipe leaves its paper it says so in whole sentences."""

import pytest

from spanwise import recipes


@pytest.mark.parametrize("name", recipes.names())
def test_differences_are_sentences(name):
    differences = recipes.find(name).differences
    assert differences
    assert all((line[0].isupper() or line[0].isdigit()) and line.endswith(".") for line in differences)
    assert any("Attention probabilities" in line for line in differences)
