"""What others put into an archive is read without trust."""

import zipfile

import pytest

from spanwise.asking.documents import zipped_xml
from spanwise.asking.documents.zipped_xml import attribute, local_name, open_archive, read_part
from spanwise.errors import DataError


def read(tmp_path, text, name="a.xml"):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    with open_archive(path, "DOCX") as archive:
        return read_part(archive, "a.xml", path)


def test_names_are_read_without_their_namespaces(tmp_path):
    root = read(tmp_path, '<w:p xmlns:w="urn:w" w:type="page"/>')
    assert (local_name(root), attribute(root, "type"), attribute(root, "none")) == ("p", "page", "")


def test_entities_and_document_types_are_refused(tmp_path):
    for text in (
        '<!DOCTYPE a [<!ENTITY b "ha">]><a>&b;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
    ):
        with pytest.raises(DataError, match="document type"):
            read(tmp_path, text)


def test_parts_that_unpack_without_end_or_nest_too_deep_are_refused(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="nests"):
        read(tmp_path, "<a>" * 300 + "</a>" * 300)
    monkeypatch.setattr(zipped_xml, "MAX_PART_BYTES", 1 << 20)
    with pytest.raises(DataError, match="unpacks to more than 1 MiB"):
        read(tmp_path, "<a>" + " " * (2 << 20) + "</a>")


def test_damage_is_told_with_the_name_of_the_file(tmp_path):
    with pytest.raises(DataError, match=r"a\.docx: the text inside is damaged"):
        read(tmp_path, "<a>")
    (tmp_path / "b.docx").write_bytes(b"PK no zip")
    with pytest.raises(DataError, match=r"b\.docx is no whole DOCX"), open_archive(tmp_path / "b.docx", "DOCX"):
        pass
