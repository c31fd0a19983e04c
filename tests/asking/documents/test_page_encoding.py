"""Pages in older encodings are read as browsers read them, and a wrong declaration harms no UTF-8."""

import pytest

from spanwise.asking.documents.page_encoding import declared_encoding, page_lines
from spanwise.errors import DataError

PAGE = '<html><head><meta charset="{}"></head>\n<body><p>{}</p>\r\n</body></html>\n'


def page(tmp_path, declared, text, encoding):
    path = tmp_path / "page.html"
    path.write_bytes(PAGE.format(declared, text).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("declared", "text", "encoding"),
    [
        ("euc-kr", "경복궁은 1395년에 세웠다. 뷁", "cp949"),  # the last is in CP949 alone
        ("Windows-949", "서울", "cp949"),
        ("shift_jis", "東京タワー", "cp932"),
        ("ISO-8859-1", "café “1890”", "cp1252"),
        ("gb2312", "北京", "gb18030"),
        ("utf-8", "서울", "utf-8"),
        ("euc-kr", "서울", "utf-8"),  # declared wrongly
        ("no-such-name", "서울", "utf-8"),
        ("utf-16", "서울", "utf-8"),
        ("iso-8859-9", "İstanbul “1890”", "cp1254"),
    ],
)
def test_a_page_is_read_in_its_encoding(tmp_path, declared, text, encoding):
    lines = list(page_lines(page(tmp_path, declared, text, encoding), "strict"))
    assert [(line.number, line.ends) for line in lines] == [(1, True), (2, True), (3, True)]
    assert lines[1].text == f"<body><p>{text}</p>" and lines[2].text == "</body></html>"


def test_the_older_form_of_a_declaration_is_found(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(b"<META http-equiv=Content-Type content='text/html; charset=EUC-KR'><p>" + "한강".encode("cp949"))
    assert declared_encoding(path) == "cp949"
    assert [line.text[-2:] for line in page_lines(path, "strict")] == ["한강"]


def test_python_has_encodings_that_no_page_has(tmp_path):
    for name in ("hex", "rot13", "undefined", "unicode_escape", "base64"):
        assert declared_encoding(page(tmp_path, name, "x", "utf-8")) is None


def test_xhtml_declares_before_its_tags(tmp_path):
    path = tmp_path / "page.xhtml"
    path.write_bytes("<?xml version='1.0' encoding='euc-kr'?>\r\n<p>서울</p>\r\n".encode("cp949"))
    assert [line.text for line in page_lines(path, "strict")][1] == "<p>서울</p>"


def test_what_is_not_in_the_declared_encoding_is_named_or_replaced(tmp_path):
    path = page(tmp_path, "euc-kr", "서울", "cp949")
    path.write_bytes(path.read_bytes() + b"\xff\xff broken\n")
    with pytest.raises(DataError, match=r"page\.html declares that it is cp949, .* not.*errors=replace"):
        list(page_lines(path, "strict"))
    texts = [line.text for line in page_lines(path, "replace")]
    assert "서울" in texts[1] and "\ufffd" in texts[3] and texts[3].endswith("broken")


def test_a_long_line_comes_in_pieces_of_whole_characters(tmp_path):
    path = page(tmp_path, "euc-kr", "한" * 1_500_000, "cp949")
    lines = list(page_lines(path, "strict"))
    assert [(line.number, line.ends) for line in lines] == [(1, True), (2, False), (2, True), (3, True)]
    assert "".join(line.text for line in lines[1:3]).count("한") == 1_500_000


def test_text_without_a_declaration_is_utf8(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes("<p>서울".encode("cp949"))
    with pytest.raises(DataError, match=r"iconv -f CP949 -t UTF-8 page\.html"):
        list(page_lines(path, "strict"))
