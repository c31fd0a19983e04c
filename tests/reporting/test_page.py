"""The page works alone, escapes every text, and leaves out what is empty."""

from html.parser import HTMLParser

import pytest

from spanwise.reporting.curves import Line, draw_chart
from spanwise.reporting.mask_picture import draw_masks
from spanwise.reporting.page import (
    LABELS,
    Bar,
    BarGroup,
    Bars,
    Cell,
    Commands,
    Highlight,
    MaskedText,
    Page,
    Prose,
    Section,
    Table,
    Tile,
    Tiles,
    number,
    render,
    signed,
)
from spanwise.reporting.spans import Run

EVIL = "<script>alert(1)</script>\"'&"
VOID = {"meta", "link", "line", "polyline", "rect"}


class Checker(HTMLParser):
    """Collects tags, refuses tags that close nothing."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def every_block():
    return [
        Tiles(tiles=[Tile(label=EVIL, value=EVIL, note=EVIL, tone="good")]),
        Prose(paragraphs=[EVIL]),
        Table(
            columns=[EVIL, "b"], rows=[[Cell(text=EVIL, note=EVIL), Cell(text="2", tone="bad", strong=True)]], note=EVIL
        ),
        draw_chart(EVIL, [Line(label=EVIL, x=[0, 1], y=[1, 2])], x_label=EVIL, y_label=EVIL, note=EVIL),
        Bars(
            title=EVIL,
            legend=[(EVIL, "ours")],
            groups=[BarGroup(label=EVIL, note=EVIL, bars=[Bar(label=EVIL, percent=50, text=EVIL, low=40, high=60)])],
        ),
        MaskedText(
            title=EVIL,
            runs=[Run(text=EVIL, space=False), Run(text=EVIL, space=True, span=0, shown="random", seen=EVIL)],
            legend=[("mask", EVIL)],
            note=EVIL,
        ),
        draw_masks(EVIL, [10], [(0, 1, 3)], note=EVIL),
        Highlight(question=EVIL, before=EVIL, answer=EVIL, after=EVIL, facts=[EVIL]),
        Commands(lines=[(EVIL, EVIL)]),
        None,
    ]


def make_page(blocks, **options):
    sections = [
        Section(key="one", title=EVIL, lead=EVIL, blocks=blocks),
        Section(key="two", title="Empty", blocks=[None]),
    ]
    return Page(title=EVIL, subtitle=EVIL, sections=sections, footer=EVIL, **options)


@pytest.mark.parametrize("language", list(LABELS))
def test_no_text_becomes_markup_and_every_tag_is_closed(language):
    html = render(make_page(every_block(), language=language))

    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert checker.seen.count("script") == 1
    assert "<script>alert" not in html and f'lang="{language}"' in html


def test_the_page_asks_the_network_for_nothing():
    html = render(make_page(every_block()))

    checker = Checker()
    checker.feed(html)
    assert all(link.startswith(("#", "data:")) for link in checker.links)
    assert "default-src 'none'" in html and "@import" not in html and "url(" not in html


def test_empty_sections_are_left_out_with_their_link():
    html = render(make_page(every_block()))

    assert 'id="one"' in html and 'href="#one"' in html
    assert 'id="two"' not in html and 'href="#two"' not in html


def test_light_dark_and_narrow_screens_are_cared_for():
    html = render(make_page(every_block()))

    assert "prefers-color-scheme: dark" in html and "max-width: 46rem" in html and 'name="viewport"' in html
    assert len(html) < 60_000


def test_a_missing_value_is_an_error_and_not_an_empty_place():
    with pytest.raises(Exception, match="no attribute"):
        render(make_page([type("Broken", (), {"kind": "tiles"})()]))


def test_missing_numbers_are_dashes_and_signs_are_shown():
    assert number(None, 2) == "–" and number(1.005, 1) == "1.0"
    assert signed(0.25, 2) == "+0.25" and signed(-0.25, 2) == "−0.25" and signed(None, 1) == "–"


def test_the_button_beside_a_command_says_copy():
    assert 'data-copy="Copy" data-copied="Copied"' in render(make_page(every_block()))
