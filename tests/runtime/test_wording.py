"""One is one."""

from spanwise.runtime.wording import counted


def test_a_number_stands_with_the_form_of_its_noun():
    assert [counted(number, "file") for number in (0, 1, 2, 1000)] == ["0 files", "1 file", "2 files", "1,000 files"]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]
