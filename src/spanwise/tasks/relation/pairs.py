"""One example of relation extraction: a text and its two mentions, in characters.

The subject is `subj` of TACRED, e1 of SemEval, [[ ]] of SciERC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.errors import DataError
from spanwise.tasks.files.text import Purpose

Format = Literal["tacred", "semeval", "marked", "klue", "documents", "fewrel", "spans"]
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters `[start, end)` of a text, and the type of what they name; "" where it is not known."""

    start: int
    end: int
    type: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """One example: how is the subject related to the object? No label where it was read for prediction."""

    id: str
    text: str
    subject: Mention
    object: Mention
    label: str
    where: str


@dataclass(frozen=True, kw_only=True)
class RelationData:
    """The examples of a file in its order, or of several one behind the other."""

    source: str
    pairs: tuple[Pair, ...]
    format: Format
    num_dropped: int = 0  # examples left out under errors="repair"

    def __len__(self) -> int:
        return len(self.pairs)


def checked_pair(id: str, text: str, subject: Mention, object: Mention, label: str, where: str) -> Pair:
    """A pair whose mentions stand in the text. Raises: DataError."""
    for name, mention in (("subject", subject), ("object", object)):
        if not 0 <= mention.start < mention.end <= len(text):
            raise DataError(
                f"{where}: the {name} {mention.start}:{mention.end} is empty or outside the text of {len(text)} "
                "characters."
            )
        if not text[mention.start : mention.end].strip():
            raise DataError(f"{where}: the {name} {mention.start}:{mention.end} holds blanks alone.")
    return Pair(id, text, subject, object, label, where)


def label_of(values: Mapping[str, object], names: Sequence[str], purpose: Purpose, where: str) -> str:
    if purpose == "predict":
        return ""
    label = next((values[name] for name in names if name in values), None)
    if not isinstance(label, str) or not label.strip():
        raise DataError(f"{where}: {names[0]!r} is {label!r}; the name of a relation was expected.")
    return label.strip()


@dataclass(frozen=True)
class Words:
    """Words with blanks between them as a text, and the first character of each."""

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]

    def mention(self, first: int, last: int, type: str = "") -> Mention:
        """The words `first` to `last`, the last one included."""
        return Mention(self.starts[first], self.starts[last] + len(self.words[last]), type)


def text_of_words(words: object, where: str) -> Words:
    """Words of a treebank as a text, their brackets (-LRB-) as brackets. Raises: DataError where there are none."""
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        raise DataError(f"{where} is no list of words.")
    plain = [str(BRACKETS.get(word.upper(), word)) for word in words]
    starts = [0]
    for word in plain[:-1]:
        starts.append(starts[-1] + len(word) + 1)
    return Words(" ".join(plain), tuple(plain), tuple(starts))
