"""The documentation site: it builds without a warning, opens without a server and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from spanwise.recipes import find

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LOADED = re.compile(r"""<(?:img|script|link|iframe|source|audio|video)\b[^>]*?\b(?:src|href)=["']([^"']+)["']""", re.S)
LINKED = re.compile(r"""<a\b[^>]*?\bhref=["']([^"']+)["']""", re.S)


def foreign(page: str) -> list[str]:
    """Return the addresses that a page makes a browser load from elsewhere."""
    return [address for address in LOADED.findall(page) if "//" in address]


def broken(page: Path, pages: dict[Path, str]) -> Iterator[str]:
    """Yield the addresses of a page that lead to no file of the site, or to no place in one of its pages."""
    text = pages[page]
    for address in [*LOADED.findall(text), *LINKED.findall(text)]:
        parts = urlsplit(address.replace("&amp;", "&"))
        if parts.scheme or not (parts.path or parts.fragment):
            continue
        target = page if not parts.path else Path(os.path.normpath(page.parent / unquote(parts.path)))
        is_page = target.is_file() and target.suffix == ".html"
        if not target.is_file() or (is_page and parts.fragment and f'id="{parts.fragment}"' not in pages[target]):
            yield address


def test_an_address_elsewhere_and_a_broken_one_are_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<a href="gone.html">x</a><a href="#nowhere">y</a><a href="https://example.org">z</a>')
    assert list(broken(page, {page: page.read_text()})) == ["gone.html", "#nowhere"]
    assert foreign('<script src="https://example.org/a.js"></script>') == ["https://example.org/a.js"]
    assert not foreign(page.read_text())


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_holds_together(tmp_path):
    site = tmp_path / "site"
    done = subprocess.run([sys.executable, DOCS / "build.py", site], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    pages = {path: path.read_text("utf-8") for path in site.rglob("*.html")}
    written = [path for path in DOCS.rglob("*.md")]
    assert all(site / path.relative_to(ROOT).with_suffix(".html") in pages for path in written)
    assert not {path: found for path, text in pages.items() if (found := foreign(text))}
    assert not {path: found for path in pages if (found := list(broken(path, pages)))}
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text("utf-8")), style
    assert "SpanwiseError" in pages[site / "docs" / "api" / "index.html"]
    assert find("splinter-base").differences[2] in pages[site / "docs" / "systems" / "splinter.html"]


def test_every_setting_that_the_pages_for_newcomers_name_exists():
    """Tables can't be run, but their names can be looked up, in the recipes that they speak of."""
    recipes = [find("spanbert-base"), find("splinter-base"), find("bert-mini")]
    names = set()
    for page in (DOCS / "moving").glob("*.md"):
        names |= set(
            re.findall(r"(?:masking|replacement|objectives|format|batch)\.[a-z_.]+(?==)", page.read_text("utf-8"))
        )
    assert len(names) > 8

    def knows(recipe: object, name: str) -> bool:
        here = recipe
        for part in name.split("."):
            here = here[part] if isinstance(here, dict) and part in here else getattr(here, part, None)
            if here is None:
                return False
        return True

    assert not {name for name in names if not any(knows(recipe, name) for recipe in recipes)}
