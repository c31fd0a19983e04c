"""What tasks share where several training files become one: a name for all of them, and names that stand once."""

from collections.abc import Iterable, Sequence


def joined_name(sources: Sequence[str]) -> str:
    """Return how messages call so many files: `a.json`, `a.json and b.json`, `a.json and 3 more files`."""
    first, *others = sources
    if not others:
        return first
    return f"{first} and {others[0]}" if len(others) == 1 else f"{first} and {len(others)} more files"


def told_apart(files: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the names (of questions, texts, documents) of each file, no two equal.

    files: the names in each file. A name that an earlier file has becomes
    `NAME (file 2)` in the second file; all others stay. (A path in it would read as a genre of coreference.)
    """
    seen: set[str] = set()
    found = []
    for number, given in enumerate(files, start=1):
        here = []
        for name in given:
            while name in seen:
                name = f"{name} (file {number})"
            here.append(name)
            seen.add(name)
        found.append(here)
    return found
