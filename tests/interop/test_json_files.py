import pytest

from spanwise.errors import CheckpointError
from spanwise.interop.json_files import read_json_object


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": -Infinity}', "holds -Infinity"),
        ("[1]", "one JSON object"),
        ('{"a": ', "not valid JSON"),
        ('{"a":' * 70 + "1" + "}" * 70, "64 deep"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "\\ud800"}', "surrogates"),
    ],
)
def test_what_strict_json_is_not_is_refused_and_the_file_named(tmp_path, text, named):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(CheckpointError, match=rf"config.json.*{named}"):
        read_json_object(path)


def test_missing_binary_and_huge_files_are_refused(tmp_path):
    path = tmp_path / "config.json"
    with pytest.raises(CheckpointError, match="is missing"):
        read_json_object(path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(CheckpointError, match="can't be read"):
        read_json_object(path)
    with path.open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(CheckpointError, match="bytes"):
        read_json_object(path)


def test_plain_objects_are_read(tmp_path):
    (tmp_path / "a.json").write_text('{"a": [1, {"b": 1e-12}]}')
    assert read_json_object(tmp_path / "a.json") == {"a": [1, {"b": 1e-12}]}
