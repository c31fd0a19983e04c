"""How the site is built (`python3 run.py docs`): Sphinx reads the repository as it is, so every link keeps its place.

The pages are Markdown, and so are the docstrings: `MarkdownText` lets MyST read them where autodoc would read reST.
"""

import importlib.metadata
import inspect
import os
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

from spanwise.recipes import find

ROOT = Path(__file__).parents[1]

project = "spanwise"
author = "the spanwise developers"
release = importlib.metadata.version("spanwise")
extensions = ["myst_parser", "sphinx.ext.autodoc"]

root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "*/README.md", "records/*/README.md", "src/**/LICENSES.md"]
exclude_patterns = [".*", "tests", "build", "runs", "out", "dist"]
myst_enable_extensions = ["html_image"]  # an image with a width is HTML in Markdown
myst_heading_anchors = 3

html_theme = "furo"
html_title = "spanwise"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6f63", "color-brand-content": "#1f6f63"},
    "dark_css_variables": {"color-brand-primary": "#6fc9b8", "color-brand-content": "#6fc9b8"},
}
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "start.html"}  # the folder's own first page leads to docs/index.html
templates_path = ["site/templates"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

python_maximum_signature_line_length = 90
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
nitpick_ignore_regex = [
    (r"py:.*", r".*")
]  # types in signatures are those of torch, numpy and of modules without a page


class MarkdownText(Directive):
    """A docstring as Markdown."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        settings = self.state.document.settings
        document = new_document(self.state.document["source"], settings)
        MystParser().parse("\n".join(self.content), document)
        return document.children


class Differences(Directive):
    """Where a recipe knowingly leaves its paper, as the recipe itself says."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines = nodes.bullet_list()
        for line in find(self.arguments[0]).differences:
            lines += nodes.list_item("", nodes.paragraph(text=line))
        return [lines]


def as_markdown(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Hand a docstring to MyST; what it raises, differs in, and comes from stands in paragraphs of their own."""
    text = inspect.cleandoc("\n".join(lines))
    text = re.sub(r"\n(?=(?:Raises|Source|Differs):)", "\n\n", text)
    text = re.sub(r"(?m)^(Raises|Source|Differs|Letters):", r"**\1:**", text)
    lines[:] = ["", ".. markdown-text::", "", *("   " + line for line in text.splitlines()), ""] if text else []


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to folders, which suit a repository, lead to the page about the folder."""
    here = (ROOT / docname).parent

    def page(link: re.Match[str]) -> str:
        folder = (here / link[1]).resolve()
        if "://" in link[1] or not folder.is_dir():
            return link[0]
        pages = [ROOT / "docs" / f"{folder.name}.md", *(above / "README.md" for above in (folder, *folder.parents))]
        found = next(page for page in pages if page.is_file())
        return f"]({os.path.relpath(found, here)})"

    source[0] = re.sub(r"\]\(([^)#\s]+)\)", page, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("markdown-text", MarkdownText)
    app.add_directive("differences", Differences)
    app.connect("autodoc-process-docstring", as_markdown)
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True}
