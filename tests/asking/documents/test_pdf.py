"""Pages of a PDF file."""

import sys

import pypdf
import pytest

from spanwise.asking.documents.pdf import pdf_lines
from spanwise.errors import ConfigError, DataError


def write_pdf(path, *pages):
    """A PDF of pages with lines of text in Helvetica, written by hand."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, lines in enumerate(pages):
        stream = "BT /F1 12 Tf 72 720 Td " + " ".join(f"({line}) Tj 0 -14 Td" for line in lines) + " ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    text, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(text))
        text += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(text)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(
        f"{place:010} 00000 n \n" for place in places
    )
    text += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    path.write_text(text)


def test_lines_come_with_their_page(tmp_path):
    write_pdf(tmp_path / "a.pdf", ["The bridge was", "built in 1890."], ["Page two."])
    found = [(line.text, line.number, line.page) for line in pdf_lines(tmp_path / "a.pdf")]
    assert found == [("The bridge was", 1, 1), ("built in 1890.", 2, 1), ("Page two.", 1, 2)]


def test_damaged_and_locked_files_are_told(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DataError, match=r"a\.pdf can't be read as PDF"):
        list(pdf_lines(tmp_path / "a.pdf"))
    write_pdf(tmp_path / "b.pdf", ["secret"])
    writer = pypdf.PdfWriter(clone_from=tmp_path / "b.pdf")
    writer.encrypt("word", algorithm="RC4-128")
    writer.write(tmp_path / "c.pdf")
    with pytest.raises(DataError, match="locked by a password"):
        list(pdf_lines(tmp_path / "c.pdf"))


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigError, match=r"spanwise\[documents\]"):
        list(pdf_lines(tmp_path / "a.pdf"))
