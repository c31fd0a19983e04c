"""Whatever is wrong with a JSON text, it is a ValueError, and no other place of the package decodes files."""

import json
from pathlib import Path

import pytest

import spanwise
from spanwise.runtime.json_text import decode_json


@pytest.mark.parametrize("text", ["[" * 30_000, '{"a":' * 30_000, "", "{", "9" * 5000, b"\xff\xfe\x00"])
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        decode_json(text)


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_number_without_end_is_said_in_plain_words(is_strict):
    with pytest.raises(ValueError, match=r"^holds a number of more than 4,300 digits$"):
        decode_json('{"start": %s}' % ("9" * 5000), is_strict=is_strict)


def test_a_value_is_decoded_and_strictly_without_nan_and_repeated_keys():
    text = '{"a": NaN, "b": 1, "b": 2}'
    assert decode_json(text)["b"] == 2
    with pytest.raises(ValueError, match="holds NaN"):
        decode_json(text, is_strict=True)
    with pytest.raises(ValueError, match="the key 'b' stands twice"):
        decode_json(text.replace("NaN", "0"), is_strict=True)
    assert decode_json(b'{"a": [1.5, null]}', is_strict=True) == json.loads('{"a": [1.5, null]}')


def test_files_are_decoded_by_this_function_alone():
    """The rest decodes what this process has just encoded itself."""
    found = {}
    for path in sorted(Path(spanwise.__file__).parent.rglob("*.py")):
        for line in path.read_text().splitlines():
            if "json.loads(" in line and path.name != "json_text.py":
                found.setdefault(path.name, []).append(line.strip())
    encoded_here = ("json.dumps(", ".to_str())", ".to_json_string())", "json.loads(body)", "opens, sentence =")
    found.pop("client.py")  # stands alone, so that it can be copied into another program
    assert [line for lines in found.values() for line in lines if not any(mark in line for mark in encoded_here)] == []
