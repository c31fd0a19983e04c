"""How the files of known data sets are laid out: which columns hold texts and label, and what is scored.

Source: the files of GLUE (Wang et al. 2018) and of CoLA, MRPC and STS-B as their makers give them; NSMC, KorNLI and
KorSTS (Ham et al. 2020), KLUE (Park et al. 2021), KoBEST (Jang et al. 2022). What is scored: the same papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.files.tables import Table

Kind = Literal["single_label", "multi_label", "regression"]


@dataclass(frozen=True)
class Layout:
    """The columns of a file: names, or numbers from 0 where the file has no header."""

    text: str
    pair: str | None
    label: str
    num_columns: int | None = None  # the fewest that a file without header has
    may_disagree: bool = False  # whether "-" stands where annotators did not agree; elsewhere it is a label
    is_told: bool = False  # by a person, who knows the file: nothing but the columns is looked at

    @property
    def has_header(self) -> bool:
        return self.num_columns is None

    def fits(self, table: Table, *, with_label: bool) -> bool:
        """Return whether the file has these columns."""
        first = table.rows[0].values if table.rows else {}
        wanted = [self.text, self.pair] + ([self.label] if with_label else [])
        if self.num_columns is not None:
            if table.columns or "0" not in first:
                return False
            if not self.is_told:
                return len(first) >= self.num_columns and (not with_label or _is_number(first[self.label]))
        return all(name is None or name.split(".")[0] in first for name in wanted)

    def as_spelled_in(self, table: Table) -> Layout:
        """This layout in the capitals of the file's own names."""
        names = tuple(table.rows[0].values) if table.rows else table.columns
        spelled = {name.casefold(): name for name in names}

        def own(name: str) -> str:
            return name if name in names else spelled.get(name.casefold(), name)

        pair = None if self.pair is None else own(self.pair)
        return replace(self, text=own(self.text), pair=pair, label=own(self.label))


@dataclass(frozen=True)
class DataSet:
    """One data set by name: what its labels are, what it is scored by (the first decides), its layouts."""

    kind: Kind
    metrics: tuple[str, ...]
    layouts: tuple[Layout, ...]
    has_no_order: bool = False  # of the two texts: their likeness is asked for


_ACCURACY = ("accuracy",)
_WITH_F1 = ("accuracy_and_f1", "accuracy", "f1")
_CORRELATION = ("pearson_and_spearman", "pearson", "spearman")
_SENTENCES = (Layout("sentence1", "sentence2", "label"),)
_STS = (Layout("sentence1", "sentence2", "score"), Layout("5", "6", "4", num_columns=7))
_NLI = (
    Layout("sentence1", "sentence2", "gold_label", may_disagree=True),
    Layout("premise", "hypothesis", "gold_label", may_disagree=True),
    Layout("premise", "hypothesis", "label", may_disagree=True),
)
DATA_SETS = {
    "cola": DataSet(
        "single_label", ("mcc", "accuracy"), (Layout("sentence", None, "label"), Layout("3", None, "1", num_columns=4))
    ),
    "sst-2": DataSet("single_label", _ACCURACY, (Layout("sentence", None, "label"),)),
    "mrpc": DataSet("single_label", _WITH_F1, (Layout("#1 String", "#2 String", "Quality"), *_SENTENCES), True),
    "sts-b": DataSet("regression", _CORRELATION, _STS, True),
    "qqp": DataSet(
        "single_label",
        _WITH_F1,
        (Layout("question1", "question2", "is_duplicate"), Layout("question1", "question2", "label")),
        True,
    ),
    "mnli": DataSet("single_label", _ACCURACY, _NLI),
    "qnli": DataSet("single_label", _ACCURACY, (Layout("question", "sentence", "label"),)),
    "rte": DataSet("single_label", _ACCURACY, _SENTENCES),
    "wnli": DataSet("single_label", _ACCURACY, _SENTENCES),
    "nsmc": DataSet("single_label", _ACCURACY, (Layout("document", None, "label"),)),
    "kornli": DataSet("single_label", _ACCURACY, _NLI),
    "korsts": DataSet("regression", ("spearman", "pearson", "pearson_and_spearman"), _STS, True),
    "klue-nli": DataSet("single_label", _ACCURACY, _NLI),
    "klue-sts": DataSet(
        "regression", ("pearson", "spearman"), (Layout("sentence1", "sentence2", "labels.real-label"),), True
    ),
    "klue-ynat": DataSet("single_label", ("macro_f1", "accuracy"), (Layout("title", None, "label"),)),
    "kobest-boolq": DataSet("single_label", ("macro_f1", "accuracy"), (Layout("Text", "Question", "Answer"),)),
    "kobest-sentineg": DataSet("single_label", ("macro_f1", "accuracy"), (Layout("Text", None, "Label"),)),
}
GENERAL = tuple(
    Layout(text, pair, label, may_disagree=label == "gold_label" or text == "premise")
    for text, pair in (
        ("sentence1", "sentence2"),
        ("premise", "hypothesis"),
        ("question1", "question2"),
        ("question", "sentence"),
        ("text1", "text2"),
        ("text", "text_pair"),
        ("text_a", "text_b"),
        ("text", None),
        ("sentence", None),
        ("document", None),
        ("title", None),
    )
    for label in ("gold_label", "label", "labels", "score", "is_duplicate", "target", "class")
)
IDS = ("id", "index", "guid", "pairID", "ID", "pair_id", "idx")


def find_data_set(name: str) -> DataSet:
    """A data set by name. Raises: ConfigError with the names there are."""
    if name not in DATA_SETS:
        raise ConfigError(
            f"there is no data set {name!r}; those with a layout of their own are {', '.join(DATA_SETS)}."
            f"{did_you_mean(name, DATA_SETS)}"
        )
    return DATA_SETS[name]


def header_names(layouts: Sequence[Layout]) -> tuple[str, ...]:
    """Every column name that tells a header from a row of data."""
    return tuple(
        name for layout in layouts if layout.has_header for name in (layout.text, layout.pair, layout.label) if name
    )


def find_layout(table: Table, layouts: Sequence[Layout], *, with_label: bool) -> Layout:
    """The first layout that the file has, else the first that it has with other capitals ("Premise", "LABEL").

    Raises: DataError naming its columns.
    """
    for layout in (*layouts, *(layout.as_spelled_in(table) for layout in layouts)):
        if layout.fits(table, with_label=with_label):
            return layout
    if not table.rows:
        raise DataError(f"{table.source}: a header and no row; it needs examples.")
    first = table.rows[0].values
    named = ", ".join(first)
    if not table.columns and "0" in first:
        named += f" (first line: {' | '.join(map(str, first.values()))[:80]})"
    raise DataError(
        f"{table.source}: which columns hold the texts{' and the label' if with_label else ''} is not known; it has "
        f"{named or 'none'}. Name them in finetune (and in score): --set task.text=COLUMN --set task.pair=COLUMN "
        "--set task.label=COLUMN."
    )


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
