"""The page that helps to choose: its figures stand in the records that it links, and its example files are read."""

import re
from pathlib import Path

import pytest

from spanwise.tasks.registry import TASKS, task_recipe

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "choose.md"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table rows under a heading, without the row of names and the line below it."""
    part = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [row for row in cells if set("".join(row)) != {"-"}]


def linked_text(markdown: str) -> str:
    files = [(PAGE.parent / target) for target in re.findall(r"\]\((\.\.[^)#]+)", markdown)]
    return "\n".join(file.read_text("utf-8") for file in files if file.suffix == ".md")


def test_every_figure_called_measured_stands_in_a_record_that_its_row_links():
    table = rows("Quality")[1:]
    assert len(table) >= 6
    for row in table:
        claims = re.sub(r"\([^)]*\)|SQuAD \d\.\d|among \d+|-L\b", "", row[1])
        for figure in re.findall(r"\d+\.\d+", claims):
            assert figure in linked_text(row[1]), f"docs/choose.md says {figure} for {row[0]}; its record does not"


def test_what_a_source_says_is_linked_to_it():
    for row in rows("Quality")[1:]:
        if re.search(r"F1", row[2]):
            assert "](https://" in row[2], row


@pytest.mark.parametrize("page", [PAGE, ROOT / "docs" / "ko" / "tasks.md"], ids=["choose.md", "ko/tasks.md"])
def test_every_line_shown_as_the_file_to_write_is_read_by_its_task(page, tmp_path):
    shown = dict(re.findall(r"^\| `([a-z-]+)` \| `(\{.*\})` \|$", page.read_text("utf-8"), re.M))
    assert set(shown) == set(TASKS)
    for name, line in shown.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text(line + "\n", "utf-8")
        assert len(task_recipe(name).task.read(file, purpose="train")) == 1, name
