"""Numbers with their nouns, as people write them."""


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number with its noun: "1 file", "2 files", "1,000 entries". `more` is the plural where it is not -s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
