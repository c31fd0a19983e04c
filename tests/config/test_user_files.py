import sys

import pytest

from spanwise.config.user_files import call_in_file, is_reference, load_file, module_name
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
