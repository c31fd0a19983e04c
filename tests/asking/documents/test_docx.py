"""Paragraphs of a DOCX file with the pages that Word laid out."""

import zipfile

import pytest

from spanwise.asking.documents.docx import docx_lines
from spanwise.errors import DataError

OFFICE = "http://schemas.openxmlformats.org"
NAMESPACE = f'xmlns:w="{OFFICE}/wordprocessingml/2006/main" xmlns:mc="{OFFICE}/markup-compatibility/2006"'


def lines_of(tmp_path, body):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {NAMESPACE}><w:body>{body}</w:body></w:document>")
    lines = list(docx_lines(path))
    assert not any(line.text for line in lines[1::2])  # an empty one behind each paragraph
    return [(line.text, line.number, line.page) for line in lines[::2]]


def paragraph(inside):
    return f"<w:p><w:r>{inside}</w:r></w:p>"


def test_paragraphs_and_cells_come_in_order_and_deleted_text_does_not(tmp_path):
    cell = f"<w:tbl><w:tr><w:tc>{paragraph('<w:t>cell</w:t>')}</w:tc></w:tr></w:tbl>"
    first = paragraph("<w:t>The </w:t><w:tab/><w:t>bridge</w:t><w:delText>gone</w:delText>")
    assert lines_of(tmp_path, first + cell) == [("The  bridge", 1, 0), ("cell", 2, 0)]


def test_pages_are_counted_where_the_file_says_that_they_break(tmp_path):
    body = paragraph("<w:t>a</w:t>") + paragraph('<w:br w:type="page"/><w:t>b</w:t>')
    body += paragraph("<w:t>c</w:t><w:lastRenderedPageBreak/><w:t>d</w:t>") + paragraph("<w:t>e</w:t>")
    pages = [(text.strip(), page) for text, _, page in lines_of(tmp_path, body)]
    assert pages == [("a", 1), ("b", 2), ("cd", 2), ("e", 3)]


def test_the_text_of_a_drawing_comes_once_and_moved_text_where_it_is_now(tmp_path):
    box = "<mc:AlternateContent><mc:Choice>{0}</mc:Choice><mc:Fallback>{0}</mc:Fallback></mc:AlternateContent>"
    drawn = paragraph(
        "<w:t>before</w:t>" + box.format(f"<w:txbxContent>{paragraph('<w:t>boxed</w:t>')}</w:txbxContent>")
    )
    gone = f"<w:moveFrom>{paragraph('<w:t>moved</w:t>')}</w:moveFrom>"
    moved = gone + "<w:p><w:moveTo><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p>"
    expected = [("before", 1, 0), ("boxed", 2, 0), ("moved", 3, 0), ("after", 4, 0)]
    assert lines_of(tmp_path, drawn + moved + paragraph("<w:t>after</w:t>")) == expected


def test_another_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("other.xml", "<a/>")
    with pytest.raises(DataError, match="no DOCX file"):
        list(docx_lines(tmp_path / "a.docx"))


def test_a_break_that_word_marks_once_more_is_one_page(tmp_path):
    made, laid_out = '<w:br w:type="page"/>', "<w:lastRenderedPageBreak/>"
    body = paragraph(f"<w:t>a</w:t>{made}") + paragraph(f"{laid_out}<w:t>b</w:t>")
    body += (
        paragraph(made) + paragraph(f"{laid_out}{made}") + paragraph(f"{laid_out}<w:t>c</w:t>{laid_out}<w:t>d</w:t>")
    )
    body += paragraph("<w:t>e</w:t>") + paragraph(made) + paragraph("<w:drawing/>" + laid_out * 2 + "<w:t>f</w:t>")
    found = {text.strip(): page for text, _, page in lines_of(tmp_path, body) if text.strip()}
    assert found == {"a": 1, "b": 2, "cd": 4, "e": 5, "f": 7}
