import sys
from pathlib import Path

import pytest

from spanwise.config import user_files
from spanwise.config.user_files import (
    call_in_file,
    functions_of,
    is_reference,
    load_file,
    made_by,
    module_name,
    opening,
)
from spanwise.errors import ConfigError


def test_a_reference_is_a_file_and_a_function():
    assert is_reference("a/b.py:c") and not is_reference("spanbert-base") and not is_reference("b.py")


def test_files_of_a_package_import_one_another_and_are_named_by_it(tmp_path):
    folder = tmp_path / "owners_package" / "inner"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").write_text("")
    (folder / "data.py").write_text("VALUE = 3\n")
    (folder / "task.py").write_text(
        "from .data import VALUE\nclass Part: pass\ndef mine():\n    return VALUE, Part.__module__\n"
    )
    assert module_name(folder / "task.py") == "owners_package.inner.task"
    assert module_name(folder / "__init__.py") == "owners_package.inner"
    assert call_in_file(f"{folder}/task.py:mine", "task") == (3, "owners_package.inner.task")
    load_file(folder / "task.py", "owners_package.inner.task")  # again, as another process does
    assert sys.modules["owners_package.inner.task"].VALUE == 3


@pytest.mark.parametrize(
    ("text", "function", "words"),
    [
        ("raise ValueError('boom')", "f", r"task file .* failed: ValueError: boom"),
        ("def f():\n    return 1 / 0", "f", r"task function .* failed: ZeroDivisionError"),
        ("def right(): pass", "rigth", r"no function 'rigth'.*right"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path, text, function, words):
    (tmp_path / "some_task.py").write_text(text)
    with pytest.raises(ConfigError, match=words):
        call_in_file(f"{tmp_path}/some_task.py:{function}", "task")


def test_our_functions_have_names_with_dashes_and_no_imported_one_is_among_them():
    found = functions_of(user_files)
    assert found["made-by"] is made_by and "did-you-mean" not in found and not any(name[0] == "-" for name in found)
    assert opening(made_by).startswith("Return what one of") and opening(object) and opening(lambda: 3) == ""


@pytest.mark.parametrize("what", ["recipe", "study"])
def test_a_thing_is_made_by_its_name_or_by_a_users_function(tmp_path, what):
    ours = {"my-own": lambda: "ours", "number": lambda: 3}
    assert made_by("my-own", what, str, ours) == made_by("my_own", what, str, ours) == "ours"
    file = tmp_path / "some_things.py"
    file.write_text("def mine():\n    return 'theirs'\n")
    assert made_by(f"{file}:mine", what, str, ours) == "theirs"
    with pytest.raises(
        ConfigError, match=rf"is a file; name the function in it as well: .*some_things\.py:my_{what}\."
    ):
        made_by(str(file), what, str, ours)
    with pytest.raises(ConfigError, match=rf"there is no {what} 'my-owm'; `spanwise show {what}` lists all.*my-own"):
        made_by("my-owm", what, str, ours)
    with pytest.raises(ConfigError, match=f"number returned int; a {what} function returns str"):
        made_by("number", what, str, ours)
    with pytest.raises(ConfigError, match=f"{what} file {Path('nowhere.py')} does not exist"):
        made_by("nowhere.py:mine", what, str, ours)
