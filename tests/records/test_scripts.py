"""Scripts that no test runs still import names that exist: records, benchmarks, examples outlive a moved function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("records", "benchmarks", "examples", "scripts")
RECORDS = {path.name for path in (ROOT / "records").iterdir()}
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_script_imports_of_the_package_is_there(script):
    wanted = [
        (node.module, one.name)
        for node in ast.walk(ast.parse((ROOT / script).read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "spanwise"
        for one in node.names
    ]

    assert not [f"{module}.{name}" for module, name in wanted if not is_there(module, name)]


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script.startswith("records/")])
def test_what_a_script_takes_of_the_scripts_of_a_record_is_there(script):
    """A script finds those beside it, and those of a record that it names in `sys.path`."""
    tree = ast.parse((ROOT / script).read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    folders = [(ROOT / script).parent, *(ROOT / "records" / text for text in texts if text in RECORDS)]
    missing = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        module = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
        files = [folder / f"{module}.py" for folder in folders if (folder / f"{module}.py").exists()]
        if isinstance(node, ast.ImportFrom) and files:
            known = names_bound(ast.parse(files[0].read_text("utf-8")).body)
            missing += [f"{module}.{one.name}" for one in node.names if one.name not in known]
        elif not files and any(path.stem == module for path in (ROOT / "records").rglob("*.py")):
            missing.append(module)
    assert not missing


def is_there(module: str, name: str) -> bool:
    """Return whether a module of the package binds a name at its top, found without importing it."""
    place = ROOT / "src" / module.replace(".", "/")
    if any(path.exists() for path in (place / name, place / f"{name}.py")):
        return True
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file.exists() and name in names_bound(ast.parse(file.read_text("utf-8")).body)


def names_bound(statements: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {one.asname or one.name for one in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.If | ast.Try):
            found |= names_bound([*node.body, *node.orelse])
    return found
