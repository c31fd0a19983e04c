"""Numbers with their nouns, as people write them, and what errors say, in a line."""

MOST_SAID = 200  # characters of an error


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number with its noun: "1 file", "2 files", "1,000 entries". `more` is the plural where it is not -s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def said_first(error: BaseException) -> str:
    """Return what an error of a driver or a compiler says, in one line: the first one, where others followed from
    it."""
    while error.__context__ is not None:
        error = error.__context__
    return (" ".join(str(error).split()) or type(error).__name__)[:MOST_SAID].rstrip(".")
