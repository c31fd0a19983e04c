"""GAP: does an ambiguous pronoun mean name A, name B or neither? Read, answered from clusters, and scored.

Source: Webster et al. 2018, and its official scorer: every name of every example is one decision; F1 over all, over
masculine and over feminine pronouns, and bias = feminine F1 / masculine F1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.base import Score
from spanwise.tasks.coref.score import recall_precision_f1
from spanwise.text.readers import read_lines

COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
MASCULINE = frozenset({"he", "him", "his"})
FEMININE = frozenset({"she", "her", "hers"})

Span = tuple[int, int]  # half-open characters


@dataclass(frozen=True, kw_only=True)
class GapExample:
    """One pronoun and two names of a text, as characters, and which of the names it means."""

    id: str
    text: str
    pronoun: Span
    names: tuple[Span, Span]
    is_coreferent: tuple[bool, bool]

    @property
    def gender(self) -> str:
        start, end = self.pronoun
        return "feminine" if self.text[start:end].lower() in FEMININE else "masculine"


def is_gap(first_line: str) -> bool:
    """Return whether a file that begins with this line is one of GAP's."""
    return first_line.split("\t")[:6] == list(COLUMNS[:6])


def read_gap(path: str | Path) -> list[GapExample]:
    """Read a GAP file.

    Raises: DataError naming the file and the line for a row of other columns, an offset at which its text does not
    stand, a pronoun of neither gender, a label that is not TRUE or FALSE, an id that comes twice, no example.
    """
    path = Path(path)
    examples: list[GapExample] = []
    lines: dict[str, int] = {}
    for line in read_lines(path):
        where = f"{path}, line {line.number}"
        if line.number == 1 and is_gap(line.text):
            continue
        if not line.text.strip():
            continue
        row = line.text.split("\t")
        if len(row) not in (len(COLUMNS), len(COLUMNS) - 1):
            raise DataError(f"{where} has {len(row)} columns divided by tabs; {len(COLUMNS)} were expected.")
        example = _example(dict(zip(COLUMNS, row, strict=False)), where)
        if example.id in lines:
            raise DataError(f"{where}: example {example.id!r} came before, at line {lines[example.id]}.")
        lines[example.id] = line.number
        examples.append(example)
    if not examples:
        raise DataError(f"{path} holds no example of GAP.")
    return examples


def _example(row: Mapping[str, str], where: str) -> GapExample:
    text = row["Text"]

    def span(name: str) -> Span:
        offset, words = row[f"{name}-offset"], row[name]
        start = int(offset) if offset.isdecimal() else -1
        if start < 0 or not words or text[start : start + len(words)] != words:
            raise DataError(f"{where}: {name} {words!r} does not stand at offset {offset!r} of the text.")
        return start, start + len(words)

    def label(name: str) -> bool:
        value = row[f"{name}-coref"].strip().upper()
        if value not in ("TRUE", "FALSE"):
            raise DataError(f"{where}: {name}-coref is {value!r}; TRUE or FALSE was expected.")
        return value == "TRUE"

    if row["Pronoun"].lower() not in MASCULINE | FEMININE:
        raise DataError(f"{where}: {row['Pronoun']!r} is none of GAP's pronouns (he, him, his, she, her, hers).")
    return GapExample(
        id=row["ID"],
        text=text,
        pronoun=span("Pronoun"),
        names=(span("A"), span("B")),
        is_coreferent=(label("A"), label("B")),
    )


def answer(example: GapExample, clusters: Sequence[Sequence[Span]]) -> tuple[bool, bool]:
    """Return whether each name is in the cluster of the pronoun.

    A mention is the name where it is the same characters, lies inside the name ("Smith" of "Bob Smith"), or ends with
    it ("President Bob Smith").
    """

    def means(mention: Span, name: Span) -> bool:
        inside = name[0] <= mention[0] and mention[1] <= name[1]
        return inside or (mention[1] == name[1] and mention[0] <= name[0])

    together = [mention for cluster in clusters if example.pronoun in map(tuple, cluster) for mention in cluster]
    first, second = (any(means(mention, name) for mention in together) for name in example.names)
    return first, second


def score_gap(examples: Sequence[GapExample], answers: Mapping[str, tuple[bool, bool]]) -> dict[str, Score]:
    """The official numbers from 0 to 100: `f1`, `recall`, `precision`, both genders' own, and `bias` (1 is fair).

    An example without an answer counts as "neither".
    """
    groups = {
        "all": examples,
        "masculine": [example for example in examples if example.gender == "masculine"],
        "feminine": [example for example in examples if example.gender == "feminine"],
    }
    found = {name: _scores(group, answers) for name, group in groups.items()}
    masculine, feminine = found["masculine"]["f1"], found["feminine"]["f1"]
    return {
        "f1": found["all"]["f1"],  # the first of all
        **found.pop("all"),
        **found,
        "bias": feminine / masculine if masculine else 0.0,
    }


def _scores(examples: Sequence[GapExample], answers: Mapping[str, tuple[bool, bool]]) -> dict[str, float]:
    pairs = [
        (gold, said)
        for example in examples
        for gold, said in zip(example.is_coreferent, answers.get(example.id, (False, False)), strict=True)
    ]
    right = sum(gold and said for gold, said in pairs)
    num_gold, num_said = sum(gold for gold, _ in pairs), sum(said for _, said in pairs)
    return recall_precision_f1(right, num_gold, right, num_said)


def write_gap_answers(answers: Mapping[str, tuple[bool, bool]]) -> str:
    """Answers as the official scorer reads them: id, A, B, divided by tabs."""
    return "".join(f"{id}\t{str(a).upper()}\t{str(b).upper()}\n" for id, (a, b) in answers.items())


def read_gap_answers(path: str | Path) -> dict[str, tuple[bool, bool]]:
    """Read what `write_gap_answers` wrote. Raises: DataError naming file and line."""
    answers = {}
    for line in read_lines(Path(path)):
        row = line.text.strip().split("\t")
        values = [{"TRUE": True, "FALSE": False}.get(value.strip().upper()) for value in row[1:]]
        if row == [""]:
            continue
        if len(values) != 2 or None in values:
            raise DataError(f"{path}, line {line.number}: an id, TRUE or FALSE, TRUE or FALSE were expected.")
        answers[row[0]] = (bool(values[0]), bool(values[1]))
    return answers
