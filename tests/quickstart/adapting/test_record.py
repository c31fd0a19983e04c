"""The record of an adaptation says which way it came, so that a page can be written again from it."""

import dataclasses

from spanwise.quickstart.adapting.record import AdaptedRecord
from spanwise.quickstart.record import QuickstartRecord


def test_the_two_records_can_be_told_apart():
    defaults = {field.name: field.default for field in dataclasses.fields(AdaptedRecord)}
    assert defaults["way"] == "adapted"
    assert "way" not in {field.name for field in dataclasses.fields(QuickstartRecord)}
