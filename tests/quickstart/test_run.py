"""The record of either way is told by what it says; anything else is refused."""

import json

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.quickstart.run import quickstart, read_record, rewrite_report


@pytest.mark.parametrize(
    "content", [{"way": "adapted"}, {"format": 2}, {"format": "1"}, {"format": None}, {"format": True}, [], "text"]
)
def test_what_is_no_result_is_refused(content, tmp_path):
    with pytest.raises(ValueError, match=r"error"):
        read_record(json.dumps(content))
    (tmp_path / "result.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"no result of a quickstart .* \([a-z_ ]+: [A-Z]"):
        rewrite_report(tmp_path)


@pytest.mark.parametrize("record", [{"way": "adapted", "format": 1}, {"format": 1}, {"format": 3}])
def test_the_result_of_another_version_is_named_as_one(record, tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(record))
    told = rf"shown \(format {record['format']}, of another version of spanwise; this one reads 2\); run"
    with pytest.raises(DataError, match=told):
        rewrite_report(tmp_path)


def test_a_folder_without_a_result_is_told_so_once(tmp_path):
    with pytest.raises(DataError, match=r"json is no result of a quickstart that can be shown \(No such file or"):
        rewrite_report(tmp_path)


def test_a_folder_of_other_things_is_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"not empty \(thesis\.tex\)"):
        quickstart(out=tmp_path, budget=60)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
