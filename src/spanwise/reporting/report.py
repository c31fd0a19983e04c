"""`spanwise report RUN...`: run folders in, one HTML page out, with curves, timing, masks and scores side by side."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from spanwise.config.records import flatten
from spanwise.errors import ConfigError
from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.mask_picture import draw_masks, length_shares
from spanwise.reporting.page import (
    NOTHING,
    Bar,
    BarGroup,
    Bars,
    Block,
    Cell,
    Commands,
    Page,
    Section,
    Table,
    number,
    render,
    row,
    tone_of,
)
from spanwise.reporting.runs import RunRecord, read_runs
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.program import program

MOST_COLUMNS = 7  # of a page


def write_report(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write the page of one or more run folders to `out` (a file, or a folder that gets report.html); return its path.

    Raises: DataError for a folder without a log; ConfigError without any folder.
    """
    if not runs:
        raise ConfigError("report needs at least one run folder.")
    out = Path(out)
    target = out if out.suffix in (".html", ".htm") else out / "report.html"
    page = render(runs_page(read_runs(runs), target))
    write_text_atomic(target, page.encode("utf-8", "replace").decode())  # half a letter in a damaged record
    return target


def runs_page(runs: Sequence[RunRecord], target: Path) -> Page:
    """Lay out one or more runs."""
    names = ", ".join(run.name for run in runs)
    command = f"{program()} {shlex.join(['report', *(str(run.path) for run in runs), '--out', str(target)])}"
    blocks: dict[tuple[str, str], Sequence[Block | None]] = {
        ("runs", "Runs"): (summary(runs),),
        ("curves", "Curves"): (*loss_charts(runs), *score_charts(runs), *pace_charts(runs)),
        ("time", "Time"): (time_bars(runs),),
        ("masks", "Masks"): [block for run in runs for block in mask_blocks(run)],
        ("recipes", "Recipes"): (recipe_table(runs),),
        ("again", "Make it again"): (Commands(lines=[(command, "This page, from the same folders.")]),),
    }
    return Page(
        title=names if len(runs) < 4 else f"{len(runs)} runs",
        subtitle="Curves, timing, masks and scores, read from the folders of the runs.",
        sections=[Section(key=key, title=title, blocks=shown) for (key, title), shown in blocks.items()],
    )


def summary(runs: Sequence[RunRecord]) -> Table:
    """Put runs side by side: length, speed, last losses, last scores."""
    losses = list(dict.fromkeys(name for run in runs for name in run.loss_names))
    scores = list(dict.fromkeys(key for run in runs for record in run.evaluations for key in record["evaluation"]))
    rows = []
    for run in runs:
        last = run.steps[-1] if run.steps else {}
        evaluation = run.evaluations[-1]["evaluation"] if run.evaluations else {}
        lengths = [last.get("step"), last.get("tokens"), last.get("seconds"), run.tokens_per_second]
        values = [last.get("losses", {}).get(name) for name in losses] + [evaluation.get(key) for key in scores]
        cells = [number(value, 0) for value in lengths] + [number(value, 3) for value in values]
        rows.append(row(run.name, *(Cell(text=cell, tone="muted" if cell == NOTHING else "") for cell in cells)))
    columns = ["run", "steps", "tokens", "seconds", "tokens per second", *losses, *(words(key) for key in scores)]
    if len(columns) <= MOST_COLUMNS:
        return Table(columns=columns, rows=rows)
    turned = [row(columns[index], *(cells[index] for cells in rows)) for index in range(1, len(columns))]
    return Table(columns=["", *(run.name for run in runs)], rows=turned)


def loss_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    """Draw one chart per loss: training solid, evaluation dashed."""
    charts = []
    for name in dict.fromkeys(name for run in runs for name in run.loss_names):
        lines = []
        for index, run in enumerate(runs):
            x, y = run.curve(name)
            lines.append(Line(label=run.name, x=x, y=y, tone=tone_of(index)))
            x, y = run.evaluation_curve(f"{name}_loss")
            if len(x) > 1:
                lines.append(Line(label=f"{run.name}, evaluation", x=x, y=y, tone=tone_of(index), dashed=True))
        charts.append(draw_chart(f"{name} loss", lines, x_label="tokens read", y_label="nats"))
    return charts


def score_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    """Draw one chart for each other number of the evaluations that was taken more than once."""
    keys = dict.fromkeys(key for run in runs for record in run.evaluations for key in record["evaluation"])
    drawn = {"loss", *(f"{name}_loss" for run in runs for name in run.loss_names)}  # beside the losses of training
    charts = []
    for key in keys:
        if key in drawn or key.endswith("_perplexity"):
            continue
        curves = [(index, run, *run.evaluation_curve(key)) for index, run in enumerate(runs)]
        lines = [Line(label=run.name, x=x, y=y, tone=tone_of(index)) for index, run, x, y in curves if len(x) > 1]
        charts.append(draw_chart(words(key), lines, x_label="tokens read", y_label=words(key)))
    return charts


def pace_charts(runs: Sequence[RunRecord]) -> list[Chart | None]:
    """Draw learning rate and speed by steps."""
    charts = []
    for key, title in (("learning_rate", "Learning rate"), ("tokens_per_second", "Real tokens per second")):
        lines = []
        for index, run in enumerate(runs):
            steps = [record for record in run.steps if record.get(key) is not None]
            x, y = ([record[axis] for record in steps] for axis in ("step", key))
            lines.append(Line(label=run.name, x=x, y=y, tone=tone_of(index)))
        charts.append(draw_chart(title, lines, x_label="step", y_label=title.lower()))
    return charts


def time_bars(runs: Sequence[RunRecord]) -> Bars | None:
    """Draw the share of each section of the loop, a group per section."""
    shares = [run.seconds_by_section for run in runs]
    groups = []
    for name in dict.fromkeys(name for share in shares for name in share):
        bars = []
        for index, (run, share) in enumerate(zip(runs, shares, strict=True)):
            seconds = share.get(name, 0.0)
            percent = 100 * seconds / max(1e-9, sum(share.values()))
            text = f"{percent:.1f} % · {seconds:.0f} s"
            bars.append(Bar(label=run.name, percent=percent, text=text, tone=tone_of(index)))
        groups.append(BarGroup(label=words(name), bars=bars))
    legend = [(run.name, tone_of(index)) for index, run in enumerate(runs)]
    return Bars(title="Where the time went", groups=groups, legend=legend if len(runs) > 1 else ()) if groups else None


def mask_blocks(run: RunRecord) -> list[Block | None]:
    """Draw a run's masks and the lengths of its spans, where the run kept them."""
    masks = run.masks
    if not masks.get("lengths"):
        return []
    spans = [(int(row), int(start), int(end)) for row, start, end in masks["spans"]]
    share = 100 * masks["num_hidden"] / max(1, masks["num_tokens"])
    picture = draw_masks(
        f"{run.name}: hidden stretches, one row per sequence",
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


def recipe_table(runs: Sequence[RunRecord]) -> Table:
    """Show the values of the recipes; of several runs only those that differ."""
    records = [flatten(run.recipe) for run in runs]
    keys = list(dict.fromkeys(key for record in records for key in record))
    if len(runs) > 1:
        keys = [key for key in keys if len({repr(record.get(key)) for record in records}) > 1]
    rows = [row(key, *(str(record.get(key, NOTHING)) for record in records)) for key in keys]
    note = "Values that are the same in all runs are left out." if len(runs) > 1 else ""
    return Table(columns=["value", *(run.name for run in runs)], rows=rows, note=note)


def words(key: str) -> str:
    """Write a name of the log as words."""
    return key.replace("_", " ")
