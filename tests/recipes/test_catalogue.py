import shutil
from collections.abc import Mapping

import pytest

from spanwise import recipes
from spanwise.config import from_record, to_record
from spanwise.config.parts import field_names, is_part_class
from spanwise.errors import ConfigError
from spanwise.pretraining.system import check


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_resolves_checks_and_writes_an_unambiguous_record(name):
    recipe = recipes.find(name)
    check(recipe)
    assert recipe.name == name
    assert from_record(to_record(recipe), kinds_in(recipe)) == recipe


def kinds_in(part: object) -> set[type]:
    """The classes of a part and of all parts inside it."""
    if isinstance(part, Mapping):
        return set().union(*map(kinds_in, part.values()))
    if not is_part_class(type(part)):
        return set()
    return {type(part)}.union(*(kinds_in(getattr(part, name)) for name in field_names(type(part))))


def test_an_unknown_name_is_answered_by_the_nearest():
    with pytest.raises(ConfigError, match="spanbert-base"):
        recipes.find("spanbert-bsae")


def test_a_users_function_is_found_in_its_file_and_its_mistakes_are_named(tmp_path):
    file = tmp_path / "my_recipes.py"
    file.write_text(
        "from dataclasses import replace\nfrom spanwise.recipes import spanbert_tiny\n"
        "def mine():\n    return replace(spanbert_tiny(), name='mine')\n"
        "def wrong():\n    return 3\n"
    )
    assert recipes.find(f"{file}:mine").name == "mine"
    with pytest.raises(ConfigError, match="returned int"):
        recipes.find(f"{file}:wrong")
    with pytest.raises(ConfigError, match=r"no function 'mien'.*mine"):
        recipes.find(f"{file}:mien")
    with pytest.raises(ConfigError, match="does not exist"):
        recipes.find(f"{tmp_path}/no.py:mine")
    with pytest.raises(ConfigError, match=r"is a file; name the function in it as well: .*my_recipes\.py:my_recipe"):
        recipes.find(str(file))
    for taken in ("random", "turtle", "torch"):  # of Python: imported and not; of somebody else
        shutil.copy(file, tmp_path / f"{taken}.py")
        with pytest.raises(ConfigError, match=f"named like the Python module '{taken}'"):
            recipes.find(f"{tmp_path}/{taken}.py:mine")
    (tmp_path / "again").mkdir()
    shutil.copy(file, tmp_path / "again" / "my_recipes.py")  # of two files of a user's the last is meant
    assert recipes.find(f"{tmp_path}/again/my_recipes.py:mine").name == "mine"
    (tmp_path / "broken.py").write_text("raise ValueError('boom')")
    with pytest.raises(ConfigError, match="boom"):
        recipes.find(f"{tmp_path}/broken.py:mine")
