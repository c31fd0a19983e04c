"""The map of the code is short and true: what docs/architecture.md names exists, and every folder is on it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "spanwise"
MAX_LINES, MAX_WIDTH = 150, 140
NAME = re.compile(r"[\w./-]+\.py\b|[\w.-]+(?:/[\w.-]+)*/(?=[\s:,;)`]|$)")  # a Python file, or a folder with its slash


def page() -> str:
    return (ROOT / "docs" / "architecture.md").read_text("utf-8")


def tree_lines(text: str) -> list[str]:
    """Return the lines of the tree, which is the first block below its title."""
    found = re.search(r"^## Tree\n.*?^```\n(.*?)^```", text, re.S | re.M)
    assert found, "docs/architecture.md has no block below '## Tree'"
    return found[1].splitlines()


def names_of_tree(text: str) -> list[tuple[Path, str]]:
    """Return every name of the tree with the folder that its line is about; an indented line is about the one above."""
    found: list[tuple[Path, str]] = []
    home = PACKAGE
    for line in tree_lines(text):
        names = NAME.findall(line)
        assert names, f"this line of the tree names no path: {line}"
        if not line.startswith(" "):
            home = PACKAGE / names[0] if names[0].endswith("/") else PACKAGE
        found += [(home, name) for name in names]
    return found


def missing_names(text: str) -> list[str]:
    """Return the files and folders that the page names and that do not exist."""
    missing = [name for home, name in names_of_tree(text) if not ((home / name).exists() or (PACKAGE / name).exists())]
    prose = text.replace("\n".join(tree_lines(text)), "")
    quoted = [word for word in re.findall(r"`([^`\n]+)`", prose) if " " not in word]
    quoted += re.findall(r"[\w/]+\.py\b", prose)
    for name in (name for word in quoted for name in NAME.findall(word)):
        if not any((home / name).exists() for home in (PACKAGE, ROOT)):
            missing.append(name)
    return missing


def unnamed_folders(text: str) -> list[str]:
    """Return the folders of the package that no line of the tree names; what lies in a set of weights belongs to it."""
    named = {place for home, name in names_of_tree(text) for place in (home / name, PACKAGE / name)}
    named |= {parent for place in named for parent in place.parents}
    folders = {path.parent for path in PACKAGE.rglob("*.*") if "__pycache__" not in path.parts} - {PACKAGE}
    of_weights = {folder for folder in folders if PACKAGE / "weights" in list(folder.parents)[1:]}
    return sorted(str(folder.relative_to(PACKAGE)) for folder in folders - named - of_weights)


def test_the_page_is_short_enough_to_read():
    lines = page().splitlines()
    assert len(lines) <= MAX_LINES
    assert [line for line in lines if len(line) > MAX_WIDTH] == []


def test_every_path_that_the_page_names_exists():
    assert missing_names(page()) == []


def test_every_folder_of_the_package_is_on_the_page():
    assert unnamed_folders(page()) == []


def test_the_page_repeats_no_signature():
    assert re.findall(r"\bdef |\) ?->|->", page()) == []


def test_a_wrong_path_and_a_missing_folder_are_noticed():
    text = page()
    assert missing_names(text.replace("tokenizers.py", "tokenisers.py", 1)) == ["tokenisers.py"]
    assert "training/nowhere.py" in missing_names(text + "\nSee `training/nowhere.py`.\n")
    assert missing_names(text + "\nSee `nn/nothing/`.\n") == ["nn/nothing/"]
    assert unnamed_folders(text.replace("nn/fused/", "nn/", 1)) == ["nn/fused"]
