"""One is one."""

from spanwise.runtime.wording import MOST_SAID, counted, said_first


def test_a_number_stands_with_the_form_of_its_noun():
    assert [counted(number, "file") for number in (0, 1, 2, 1000)] == ["0 files", "1 file", "2 files", "1,000 files"]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def test_the_first_of_errors_that_followed_from_another_is_said_in_a_line():
    def failing():
        try:
            raise OSError("no compiler\n  here.")
        except OSError as error:
            raise RuntimeError("set VERBOSE=1") from error

    try:
        failing()
    except RuntimeError as error:
        assert said_first(error) == "no compiler here"
    assert said_first(ValueError()) == "ValueError" and len(said_first(ValueError("x" * 999))) == MOST_SAID
