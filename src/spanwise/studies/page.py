"""The record of a study as one HTML page that works offline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.page import Bar, BarGroup, Bars, Cell, Commands, Page, Prose, Section, Table, Tone
from spanwise.studies.study import CONTROL
from spanwise.studies.tables import (
    TextTable,
    arms_table,
    costs_table,
    differences_table,
    facts,
    means_table,
    measured,
    number,
)

TONES = ("ours", "boundary", "init", "unigram", "bigram", "control")  # one an arm, in order; then from the start again


def study_page(record: Mapping[str, Any]) -> Page:
    """Figures, differences with whiskers, curves, costs, arms and details."""
    has_control = bool(record["control_of"])
    against = drawn(differences_table(record, main=True, control=True)) if has_control else None
    command = record["command"]
    return Page(
        title=f"Study: {record['study']}",
        subtitle=record["question"],
        sections=(
            Section(key="facts", title="What was equal", blocks=(Prose(paragraphs=facts(record)),)),
            Section(
                key="figures",
                title="Figures",
                blocks=(drawn(means_table(record, main=True)), *bars(record)),
            ),
            Section(
                key="differences",
                title="Differences",
                blocks=(drawn(differences_table(record, main=True, control=False)), against),
            ),
            Section(key="curves", title="Learning curves", blocks=charts(record)),
            Section(key="costs", title="Costs", blocks=(drawn(costs_table(record)),)),
            Section(key="arms", title="Arms", blocks=(drawn(arms_table(record)),)),
            Section(
                key="details",
                title="In detail",
                blocks=(
                    drawn(means_table(record, main=False)),
                    drawn(differences_table(record, main=False, control=False)),
                ),
            ),
            Section(
                key="again",
                title="Make it again",
                blocks=(Commands(lines=[(command, "Goes on where it stopped.")]),) if command else (),
            ),
        ),
    )


def drawn(table: TextTable) -> Table | None:
    """A table of the page; None without rows."""
    if not table.rows:
        return None
    tones: dict[str, Tone] = {"good": "good", "bad": "bad"}
    rows = []
    for row, tone in zip(table.rows, table.tones or [""] * len(table.rows), strict=True):
        cells = []
        for place, text in enumerate(row):
            mean, _, deviation = text.partition(" ± ")  # on a line of its own: columns are narrow
            is_last = place == len(row) - 1
            cells.append(
                Cell(
                    text=mean,
                    note=f"± {deviation}" if deviation else "",
                    strong=place == 0,
                    tone=tones.get(tone, "") if is_last else "",
                )
            )
        rows.append(cells)
    return Table(columns=table.columns, rows=rows, note=table.note)


def bars(record: Mapping[str, Any]) -> list[Bars]:
    """For every probe the means of per cent figures, with the 95 % interval of each mean as a whisker."""
    found = []
    tones = {arm: TONES[place % len(TONES)] for place, arm in enumerate(record["arms"])}
    for probe in dict.fromkeys(figure["probe"] for figure in measured(record, main=True)):
        groups = []
        for figure in measured(record, main=True):
            if figure["probe"] != probe or figure["unit"] != "%":
                continue
            columns = [
                *((CONTROL, "control", values) for values in figure["controls"].values()),
                *((arm, tones[arm], values) for arm, values in figure["arms"].items()),
            ]
            shown = [
                Bar(
                    label=label,
                    percent=clipped(values["mean"]),
                    text=number(values["mean"], "%"),
                    tone=tone,
                    low=None if values["low"] is None else clipped(values["low"]),
                    high=None if values["high"] is None else clipped(values["high"]),
                )
                for label, tone, values in columns
                if values["mean"] is not None
            ]
            if shown:
                groups.append(BarGroup(label=figure["label"], bars=shown))
        if groups:
            legend = [*([(CONTROL, "control")] if record["control_of"] else []), *tones.items()]
            note = "Whiskers: 95 % interval of a mean over seeds. Paired differences are often surer."
            found.append(Bars(title=probe, groups=groups, legend=legend, note=note))
    return found


def clipped(value: float) -> float:
    return min(100.0, max(0.0, value))


def charts(record: Mapping[str, Any]) -> list[Chart | None]:
    """One chart a loss: training solid, held-out text dashed; means over seeds."""
    found = []
    note = "Means over seeds. The losses are each arm's own, under its own masks."
    drawn = {arm for arms in record["curves"].values() for arm, curve in arms.items() if curve["tokens"]}
    diverged = {
        arm for arm, one in record["arms"].items() for run in one["runs"].values() if run["state"] == "diverged"
    }
    if silent := sorted(diverged - drawn):
        note += f" No curve of {', '.join(silent)}: a seed diverged before it had logged a step."
    for loss, arms in record["curves"].items():
        lines = []
        for place, (arm, curve) in enumerate(arms.items()):
            tone = TONES[place % len(TONES)]
            lines.append(Line(label=arm, x=curve["tokens"], y=curve["mean"], tone=tone))
            held_out = curve["held_out"]
            if len(held_out["tokens"]) > 1:
                lines.append(
                    Line(label=f"{arm}, held out", x=held_out["tokens"], y=held_out["mean"], tone=tone, dashed=True)
                )
        found.append(draw_chart(f"{loss} loss", lines, x_label="tokens read", y_label="nats", note=note))
    return found
