"""Paragraphs of a HWPX file with the pages of its last layout."""

import zipfile

import pytest

from spanwise.asking.documents.hwpx import hwpx_lines
from spanwise.errors import DataError

SECTION = '<hs:sec xmlns:hs="urn:s" xmlns:hp="urn:p">{}</hs:sec>'


def lines_of(tmp_path, *sections):
    path = tmp_path / "a.hwpx"
    with zipfile.ZipFile(path, "w") as archive:
        for number, body in enumerate(sections):
            archive.writestr(f"Contents/section{number}.xml", SECTION.format(body))
    lines = list(hwpx_lines(path))
    assert not any(line.text for line in lines[1::2])  # an empty one behind each paragraph
    return [(line.text, line.number, line.page) for line in lines[::2]]


def paragraph(text, *places, more=""):
    lines = "".join(f'<hp:lineseg vertpos="{place}"/>' for place in places)
    return f"<hp:p><hp:run><hp:t>{text}</hp:t>{more}</hp:run><hp:linesegarray>{lines}</hp:linesegarray></hp:p>"


def test_a_line_that_stands_higher_than_the_one_before_begins_a_page(tmp_path):
    body = paragraph("하나", 0) + paragraph("둘", 1600, 3200, 0) + paragraph("셋", 1600) + paragraph("넷", 0)
    assert lines_of(tmp_path, body) == [("하나", 1, 1), ("둘", 2, 1), ("셋", 3, 2), ("넷", 4, 3)]


def test_sections_begin_pages_and_columns_leave_them_unknown(tmp_path):
    assert [page for *_, page in lines_of(tmp_path, paragraph("a", 0), paragraph("b", 0))] == [1, 2]
    columns = paragraph("a", 0, more='<hp:ctrl><hp:colPr colCount="2"/></hp:ctrl>')
    assert [page for *_, page in lines_of(tmp_path, columns, paragraph("b", 0))] == [0, 0]


def test_cells_follow_their_paragraph_and_footnotes_are_left_out(tmp_path):
    table = f"<hp:tbl><hp:tr><hp:tc><hp:subList>{paragraph('칸')}</hp:subList></hp:tc></hp:tr></hp:tbl>"
    note = f"<hp:ctrl><hp:footNote>{paragraph('각주')}</hp:footNote></hp:ctrl>"
    body = paragraph("표<hp:tab/>와<hp:lineBreak/>줄", 0, more=table + note)
    assert [text for text, *_ in lines_of(tmp_path, body)] == ["표 와 줄", "칸"]


def test_another_archive_is_refused(tmp_path):
    with pytest.raises(DataError, match="no HWPX file"):
        lines_of(tmp_path)
