"""`spanwise report RUN...`: run folders in, one HTML page out, with curves, timing, masks and scores side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError
from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.mask_picture import draw_masks, length_shares
from spanwise.reporting.page import Bar, BarGroup, Bars, Cell, Commands, Page, Section, Table, render
from spanwise.reporting.runs import RunRecord, read_runs
from spanwise.runtime.files import write_text_atomic

TONES = ("ours", "boundary", "init", "unigram", "bigram", "control")  # one a run, in order; then from the start again


def write_report(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write the page of one or more run folders to `out` (a file, or a folder that gets report.html); return its path.

    Raises: DataError for a folder without a log; ConfigError without any folder.
    """
    if not runs:
        raise ConfigError("report needs at least one run folder.")
    out = Path(out)
    target = out if out.suffix in (".html", ".htm") else out / "report.html"
    write_text_atomic(target, render(runs_page(read_runs(runs), target)))
    return target


def runs_page(runs: Sequence[RunRecord], target: Path) -> Page:
    """Lay out one or more runs."""
    names = ", ".join(run.name for run in runs)
    command = "spanwise report " + " ".join(str(run.path) for run in runs) + f" --out {target}"
    return Page(
        title=names if len(runs) < 4 else f"{len(runs)} runs",
        subtitle="Curves, timing, masks and scores, read from the folders of the runs.",
        sections=(
            Section(key="runs", title="Runs", blocks=(summary(runs),)),
            Section(key="curves", title="Curves", blocks=(*loss_charts(runs), *score_charts(runs), *pace_charts(runs))),
            Section(key="time", title="Time", blocks=(time_bars(runs),)),
            Section(key="masks", title="Masks", blocks=[block for run in runs for block in mask_blocks(run)]),
            Section(key="recipes", title="Recipes", blocks=(recipe_table(runs),)),
            Section(
                key="again",
                title="Make it again",
                blocks=(Commands(lines=[(command, "This page, from the same folders.")]),),
            ),
        ),
    )


def summary(runs: Sequence[RunRecord]) -> Table:
    """One row a run: length, speed, last losses, last scores."""
    losses = list(dict.fromkeys(name for run in runs for name in run.loss_names))
    scores = list(dict.fromkeys(key for run in runs for record in run.evaluations for key in record["evaluation"]))
    rows = []
    for run in runs:
        last = run.steps[-1] if run.steps else {}
        evaluation = run.evaluations[-1]["evaluation"] if run.evaluations else {}
        cells = [Cell(text=run.name, strong=True)]
        for value, digits in (
            (last.get("step"), 0),
            (last.get("tokens"), 0),
            (last.get("seconds"), 0),
            (run.tokens_per_second, 0),
        ):
            cells.append(value_cell(value, digits))
        cells += [value_cell(last.get("losses", {}).get(name), 3) for name in losses]
        cells += [value_cell(evaluation.get(key), 3) for key in scores]
        rows.append(cells)
    columns = ["run", "steps", "tokens", "seconds", "tokens a second", *losses, *(words(key) for key in scores)]
    if len(columns) > 7:  # too wide for a page: measures down, runs across
        turned = [
            [Cell(text=columns[index], strong=True), *(row[index] for row in rows)] for index in range(1, len(columns))
        ]
        return Table(columns=["", *(run.name for run in runs)], rows=turned)
    return Table(columns=columns, rows=rows)


def loss_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    """One chart a loss: training solid, evaluation dashed."""
    charts = []
    for name in dict.fromkeys(name for run in runs for name in run.loss_names):
        lines = []
        for index, run in enumerate(runs):
            tone = TONES[index % len(TONES)]
            x, y = run.curve(name)
            lines.append(Line(label=run.name, x=x, y=y, tone=tone))
            x, y = run.evaluation_curve(f"{name}_loss")
            if len(x) > 1:
                lines.append(Line(label=f"{run.name}, evaluation", x=x, y=y, tone=tone, dashed=True))
        charts.append(draw_chart(f"{name} loss", lines, x_label="tokens read", y_label="nats"))
    return charts


def score_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    """One chart for each other number of the evaluations that was taken more than once."""
    keys = dict.fromkeys(key for run in runs for record in run.evaluations for key in record["evaluation"])
    charts = []
    for key in keys:
        if key == "loss" or key.endswith(("_loss", "_perplexity")):
            continue
        lines = []
        for index, run in enumerate(runs):
            x, y = run.evaluation_curve(key)
            if len(x) > 1:
                lines.append(Line(label=run.name, x=x, y=y, tone=TONES[index % len(TONES)]))
        charts.append(draw_chart(words(key), lines, x_label="tokens read", y_label=words(key)))
    return charts


def pace_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    charts = []
    for key, title in (("learning_rate", "Learning rate"), ("tokens_per_second", "Real tokens a second")):
        lines = []
        for index, run in enumerate(runs):
            rows = [(r["step"], r[key]) for r in run.steps if r.get(key) is not None]
            tone = TONES[index % len(TONES)]
            lines.append(Line(label=run.name, x=[x for x, _ in rows], y=[y for _, y in rows], tone=tone))
        charts.append(draw_chart(title, lines, x_label="step", y_label=title.lower()))
    return charts


def time_bars(runs: Sequence[RunRecord]) -> Bars | None:
    """Share of each section of the loop, a group a section."""
    shares = [run.seconds_by_section for run in runs]
    sections = list(dict.fromkeys(name for share in shares for name in share))
    if not sections:
        return None
    groups = []
    for name in sections:
        bars = []
        for index, (run, share) in enumerate(zip(runs, shares, strict=True)):
            percent = 100 * share.get(name, 0.0) / max(1e-9, sum(share.values()))
            text = f"{percent:.1f} % · {share.get(name, 0.0):.0f} s"
            bars.append(Bar(label=run.name, percent=percent, text=text, tone=TONES[index % len(TONES)]))
        groups.append(BarGroup(label=words(name), bars=bars))
    legend = [(run.name, TONES[index % len(TONES)]) for index, run in enumerate(runs)]
    return Bars(title="Where the time went", groups=groups, legend=legend if len(runs) > 1 else ())


def mask_blocks(run: RunRecord) -> list[Any]:
    """The picture of a run's masks and the lengths of its spans, where the run kept them."""
    masks = run.masks
    if not masks.get("lengths"):
        return []
    spans = [(int(row), int(start), int(end)) for row, start, end in masks["spans"]]
    share = 100 * masks["num_hidden"] / max(1, masks["num_tokens"])
    picture = draw_masks(
        f"{run.name}: hidden stretches, one row a sequence",
        masks["lengths"],
        spans,
        note=f"{masks['num_spans']:,} spans hide {share:.1f} % of {masks['num_tokens']:,} tokens.",
    )
    shares = length_shares({int(size): count for size, count in masks["span_lengths"].items()})
    top = max((value for _, value in shares), default=1.0)
    groups = [
        BarGroup(
            label=f"{size} {'token' if size == '1' else 'tokens'}",
            bars=[Bar(label=size, percent=100 * value / top, text=f"{100 * value:.1f} %")],
        )
        for size, value in shares
    ]
    return [picture, Bars(title=f"{run.name}: length of spans after merging", groups=groups)]


def recipe_table(runs: Sequence[RunRecord]) -> Table | None:
    """The values of the recipes; of several runs only those that differ."""
    flat = [dict(flatten(run.recipe)) for run in runs]
    keys = list(dict.fromkeys(key for record in flat for key in record))
    if len(runs) > 1:
        keys = [key for key in keys if len({repr(record.get(key)) for record in flat}) > 1]
    if not keys:
        return None
    rows = [
        [Cell(text=key, strong=True), *(Cell(text="–" if key not in record else str(record[key])) for record in flat)]
        for key in keys
    ]
    note = "Values that are the same in all runs are left out." if len(runs) > 1 else ""
    return Table(columns=["value", *(run.name for run in runs)], rows=rows, note=note)


def flatten(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Nested records as (dotted path, value) pairs."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in flatten(inner, f"{path}.{key}" if path else str(key))]
    return [(path, value)] if path else []


def value_cell(value: float | None, digits: int) -> Cell:
    return Cell(text="–", tone="muted") if value is None else Cell(text=f"{value:,.{digits}f}")


def words(key: str) -> str:
    return key.replace("_", " ")
