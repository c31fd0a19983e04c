"""The record of either way is told by what it says; anything else is refused."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.quickstart.run import read_record, rewrite_report


@pytest.mark.parametrize("content", [{"way": "adapted"}, {"format": 1}, [], "text"])
def test_what_is_no_result_is_refused(content, tmp_path):
    with pytest.raises(ValueError, match=r"error"):
        read_record(json.dumps(content))
    (tmp_path / "result.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="no result of a quickstart"):
        rewrite_report(tmp_path)
