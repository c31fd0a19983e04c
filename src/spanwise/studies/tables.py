"""The record of a study as tables: rows of text that Markdown and the page both draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanwise.studies.results import NO_HEAD
from spanwise.studies.study import CONTROL

DIGITS = {"nats": 3}  # after the point, by unit; 2 for all others
NOTHING = "–"
CURVE_POINTS = 6  # of a learning curve in Markdown
MEANS_NOTE = "Means over seeds ± deviation of the sample. Where a seed is missing there is no mean but the reason."
PAIRS_NOTE = (
    "Mean of the differences paired by seed, with its 95 % interval (Student's t); the verdict says whether it holds "
    "zero. Intervals are not widened for the number of comparisons."
)


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table of plain text; `tones` [rows] say which rows are about something good or bad."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    tones: tuple[str, ...] = ()


def measured(record: Mapping[str, Any], *, main: bool | None = None) -> list[dict[str, Any]]:
    """The figures that some model has, or may still get; those that no arm has a head for are left out."""
    return [
        figure
        for figure in record["figures"]
        if (main is None or figure["main"] is main) and any(arm["why"] != NO_HEAD for arm in figure["arms"].values())
    ]


def means_table(record: Mapping[str, Any], *, main: bool) -> TextTable:
    """Baselines, control and arms side by side; a row a figure."""
    figures = measured(record, main=main)
    baselines = list(dict.fromkeys(name for figure in figures for name in figure["baselines"]))
    controls = list(dict.fromkeys(record["control_of"].values()))
    one_control = [f"{CONTROL}" if len(controls) == 1 else f"{CONTROL} ({arm})" for arm in controls]
    rows = []
    for figure in figures:
        unit = figure["unit"]
        row = [f"{figure['label']} ({unit}, {figure['better']} is better)"]
        row += [number(figure["baselines"].get(name), unit) for name in baselines]
        row += [mean_text(figure["controls"][arm], unit) for arm in controls]
        row += [mean_text(figure["arms"][arm], unit) for arm in record["arms"]]
        rows.append(tuple(row))
    return TextTable(
        title="Figures" if main else "Figures in detail",
        columns=("figure", *baselines, *one_control, *record["arms"]),
        rows=tuple(rows),
        note=MEANS_NOTE,
    )


def differences_table(record: Mapping[str, Any], *, main: bool, control: bool) -> TextTable:
    """Every arm against the arms before it, or against the control; a row a figure and pair."""
    rows, tones = [], []
    for figure in measured(record, main=main):
        for found in figure["differences"]:
            if (found["other"] == CONTROL) is not control:
                continue
            unit = figure["unit"]
            if found["why"] == NO_HEAD:
                continue  # one of the two can't have it
            interval = NOTHING
            if found["low"] is not None:
                interval = f"{signed(found['low'], unit)} to {signed(found['high'], unit)}"
            rows.append(
                (
                    figure["label"],
                    f"{found['ours']} - {found['other']}",
                    f"{signed(found['mean'], unit)} {unit}" if found["mean"] is not None else NOTHING,
                    interval,
                    found["verdict"] or found["why"],
                )
            )
            tones.append({"better": "good", "worse": "bad"}.get(found["verdict"] or "", ""))
    against = f"against {CONTROL}" if control else "between arms"
    return TextTable(
        title=f"Differences {against}" + ("" if main else ", in detail"),
        columns=("figure", "difference", "mean", "95 % interval", "verdict"),
        rows=tuple(rows),
        note=PAIRS_NOTE,
        tones=tuple(tones),
    )


def costs_table(record: Mapping[str, Any]) -> TextTable:
    """What every arm has cost: means over its runs, with the state of each."""
    rows = []
    for arm, found in record["arms"].items():
        runs = list(found["runs"].values())
        states = ", ".join(f"{seed} {run['state']}" for seed, run in found["runs"].items())
        rows.append(
            (
                arm,
                f"{found['parameters'] / 1e6:.2f} M",
                count(mean_of(run.get("steps") for run in runs)),
                count(mean_of(run.get("tokens") for run in runs)),
                operations(mean_of(run.get("flops") for run in runs)),
                count(mean_of(run.get("seconds") for run in runs)),
                count(mean_of(run.get("probe_seconds") for run in runs)),
                states,
            )
        )
    return TextTable(
        title="Costs",
        columns=("arm", "parameters", "steps", "tokens", "operations", "seconds", "seconds of probes", "seeds"),
        rows=tuple(rows),
        note="Means over the runs so far. Operations are those of training, forward and backward, on this text.",
    )


def curves_table(record: Mapping[str, Any]) -> TextTable:
    """A few points of every learning curve."""
    rows = []
    for loss, arms in record["curves"].items():
        for arm, curve in arms.items():
            for kind, points in (("training", curve), ("held out", curve["held_out"])):
                tokens, means = points["tokens"], points["mean"]
                if tokens:
                    places = sorted({round(i * (len(tokens) - 1) / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)})
                    shown = "; ".join(f"{count(tokens[place])}: {means[place]:.3f}" for place in places)
                    rows.append((loss, arm, kind, shown))
    return TextTable(
        title="Learning curves",
        columns=("loss", "arm", "text", "tokens read: mean loss over seeds"),
        rows=tuple(rows),
        note="The losses are each arm's own, under its own masks: arms that hide other tokens do not compare.",
    )


def arms_table(record: Mapping[str, Any]) -> TextTable:
    """What every arm has that the first has not."""
    rows = []
    for place, (arm, found) in enumerate(record["arms"].items()):
        differs = "; ".join(f"{path}: {a} → {b}" for path, a, b in found["differs"])
        rows.append((arm, "the first" if place == 0 else differs))
    return TextTable(title="Arms", columns=("arm", "differs from the first in"), rows=tuple(rows))


def facts(record: Mapping[str, Any]) -> list[str]:
    """Sentences: what was equal for all arms, and on what it ran."""
    equal = _budget(record["budget"])
    text, machine = record["text"], record["machine"]
    seeds = ", ".join(map(str, record["seeds"]))
    return [
        f"{equal} Seeds: {seeds}.",
        f"Text: {text['num_tokens']:,} tokens of {text['num_documents']:,} documents, {text['vocabulary']:,} pieces.",
        f"Machine: {machine['processor']}, {machine['cores']} cores, torch {machine['torch']}, spanwise "
        f"{machine['spanwise']}.",
        *_places(record),
        *_files(record),
        *_starts(record),
        *unfinished(record),
        *record["notes"],
    ]


def _budget(budget: Mapping[str, Any]) -> str:
    """What is equal for all arms, and the tokens of each where they are not equal."""
    tokens: dict[str, int] = budget["tokens"]
    by_arm = ", ".join(f"{arm} {count(number)}" for arm, number in tokens.items())
    if budget["kind"] == "compute":
        return f"Every arm has {operations(budget['value'])} training operations; tokens: {by_arm}."
    if budget["kind"] == "seconds":
        rates = ", ".join(f"{arm} {count(rate)}" for arm, rate in budget["rates"].items())
        return (
            f"Every arm trains for {count(budget['value'])} seconds, by tokens per second that were measured once, "
            f"each arm alone: {rates}; tokens: {by_arm}."
        )
    if len(set(tokens.values())) > 1:
        return f"Tokens that the arms read: {by_arm}."
    return f"Every arm reads {count(next(iter(tokens.values())))} tokens."


def _places(record: Mapping[str, Any]) -> list[str]:
    """That not all figures were measured alike, where a study has gone on elsewhere."""
    places = [", ".join(f"{key} {value}" for key, value in where.items()) for where in record["measured_where"]]
    return [f"Figures come from several places, whose last digits may differ: {'; '.join(places)}."] * (len(places) > 1)


def _files(record: Mapping[str, Any]) -> list[str]:
    """What the probes were measured on, by the names of the files; result.json has their hashes."""
    shown = [
        f"{probe}: {', '.join(file['name'] for file in files.values())}"
        for probe, files in record["probe_files"].items()
        if files
    ]
    return [f"Files of the probes: {'; '.join(shown)}."] if shown else []


def _starts(record: Mapping[str, Any]) -> list[str]:
    """That a control of random weights is not where these arms began."""
    arms = record["starts_from_text"]
    if not arms or not record["control_of"]:
        return []
    who = "All arms begin" if len(arms) == len(record["arms"]) else f"{', '.join(arms)} begin"
    return [f"{who} with values counted in the text, which random weights are without: their gain holds both."]


def unfinished(record: Mapping[str, Any]) -> list[str]:
    """What a reader must know before the tables: runs that diverged, and runs that are still to be done."""
    told = []
    runs = [(f"{arm}-{seed}", run) for arm, found in record["arms"].items() for seed, run in found["runs"].items()]
    for name, run in runs:
        if run["state"] == "diverged":
            told.append(f"{name} diverged: {run['why']}")
    left = [name for name, run in runs if run["state"] in ("new", "begun")]
    if left:
        told.append(f"Not finished: {', '.join(left)}.")
    return told


def all_tables(record: Mapping[str, Any]) -> list[TextTable]:
    """Every table that has rows, in the order of reading."""
    has_control = bool(record["control_of"])
    tables = [
        means_table(record, main=True),
        differences_table(record, main=True, control=False),
        *([differences_table(record, main=True, control=True)] if has_control else []),
        curves_table(record),
        costs_table(record),
        arms_table(record),
        means_table(record, main=False),
        differences_table(record, main=False, control=False),
    ]
    return [table for table in tables if table.rows]


def markdown(record: Mapping[str, Any]) -> str:
    """The whole study as one Markdown text."""
    lines = [f"# Study: {record['study']}", "", record["question"], ""]
    lines += [f"- {fact}" for fact in facts(record)]
    if record["command"]:
        lines += ["", "```bash", record["command"], "```"]
    for table in all_tables(record):
        lines += ["", f"## {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns))]
        lines += [_row(row) for row in table.rows]
        lines += ["", table.note] if table.note else []
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def mean_text(found: Mapping[str, Any], unit: str) -> str:
    """A mean with its deviation, or why there is none."""
    if found["mean"] is None:
        return f"{NOTHING} ({found['why']})"
    deviation = "" if found["deviation"] is None else f" ± {number(found['deviation'], unit)}"
    return number(found["mean"], unit) + deviation


def number(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{value:.{DIGITS.get(unit, 2)}f}"


def signed(value: float, unit: str) -> str:
    return f"{value:+.{DIGITS.get(unit, 2)}f}"


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def operations(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"


def mean_of(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
