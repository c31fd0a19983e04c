"""The record of a study as a page of tables, bars and curves: report.html and table.md are drawn from it."""

from collections.abc import Iterable, Sequence

from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.page import (
    NOTHING,
    Bar,
    BarGroup,
    Bars,
    Block,
    Cell,
    Commands,
    Page,
    Prose,
    Section,
    Table,
    Tone,
    number,
    row,
    tone_of,
)
from spanwise.studies.growth import clipped, growth_charts
from spanwise.studies.record import Column, MeasuredFigure, StudyRecord
from spanwise.studies.results import NO_HEAD
from spanwise.studies.statistics import Verdict
from spanwise.studies.study import CONTROL

DIGITS = {"nats": 3}  # behind the point, by unit; 2 for all others
VERDICT_TONES: dict[Verdict | None, Tone] = {"better": "good", "worse": "bad"}
MEANS_NOTE = "Means over seeds ± deviation of the sample. Where a seed is missing there is no mean but the reason."
PAIRS_NOTE = (
    "Mean of the differences paired by seed, with its 95 % interval (Student's t); the verdict says whether it holds "
    "zero. Intervals are not widened for the number of comparisons."
)
COSTS_NOTE = "Means over the runs so far. Operations are those of training, forward and backward, on this text."
CURVES_NOTE = "Means over seeds. The losses are each arm's own, under its own masks."


def study_page(record: StudyRecord) -> Page:
    """Lay out figures, differences with whiskers, curves, costs, arms and details."""
    again = Commands(lines=[(record.command, "Goes on where it stopped.")]) if record.command else None
    details = (means_table(record, main=False), differences_table(record, main=False, control=False))
    blocks: dict[tuple[str, str], Sequence[Block | None]] = {
        ("facts", "What was equal"): (Prose(paragraphs=facts(record)),),
        ("figures", "Figures"): (means_table(record, main=True), *growth_charts(record).values(), *bars(record)),
        ("differences", "Differences"): [differences_table(record, main=True, control=it) for it in (False, True)],
        ("curves", "Learning curves"): charts(record),
        ("costs", "Costs"): (costs_table(record),),
        ("arms", "Arms"): (arms_table(record),),
        ("details", "In detail"): details,
        ("again", "Make it again"): (again,),
    }
    return Page(
        title=f"Study: {record.study}",
        subtitle=record.question,
        sections=[Section(key=key, title=title, blocks=shown) for (key, title), shown in blocks.items()],
    )


def measured(record: StudyRecord, *, main: bool) -> list[MeasuredFigure]:
    """Return the figures that some model has, or may still get; those that no arm has a head for are left out."""
    return [
        figure
        for figure in record.figures
        if figure.main is main and any(arm.why != NO_HEAD for arm in figure.arms.values())
    ]


def means_table(record: StudyRecord, *, main: bool) -> Table:
    """Put baselines, control and arms side by side, a row per figure."""
    figures = measured(record, main=main)
    baselines = list(dict.fromkeys(name for figure in figures for name in figure.baselines))
    controls = list(dict.fromkeys(record.control_of.values()))
    rows = []
    for figure in figures:
        digits = DIGITS.get(figure.unit, 2)
        columns = [*(figure.controls[arm] for arm in controls), *(figure.arms[arm] for arm in record.arms)]
        cells: list[Cell | str] = [
            *(number(figure.baselines.get(name), digits) for name in baselines),
            *(mean_cell(column, digits) for column in columns),
        ]
        rows.append(row(f"{figure.label} ({figure.unit}, {figure.better} is better)", *cells))
    control_names = [CONTROL if len(controls) == 1 else f"{CONTROL} ({arm})" for arm in controls]
    return Table(columns=("figure", *baselines, *control_names, *record.arms), rows=rows, note=MEANS_NOTE)


def mean_cell(found: Column, digits: int) -> Cell:
    """Write a mean with its deviation, or why there is none."""
    if found.mean is None:
        return Cell(text=NOTHING, note=f"({found.why})")
    deviation = "" if found.deviation is None else f"± {number(found.deviation, digits)}"
    return Cell(text=number(found.mean, digits), note=deviation)


def differences_table(record: StudyRecord, *, main: bool, control: bool) -> Table:
    """Put every arm against the arms before it, or against the control, a row per figure and pair."""
    rows = []
    for figure in measured(record, main=main):
        digits = DIGITS.get(figure.unit, 2)
        for found in figure.differences:
            if (found.other == CONTROL) is not control or found.why == NO_HEAD:
                continue
            mean = NOTHING if found.mean is None else f"{found.mean:+.{digits}f} {figure.unit}"
            interval = NOTHING if found.low is None else f"{found.low:+.{digits}f} to {found.high:+.{digits}f}"
            pair, verdict = f"{found.ours} - {found.other}", found.verdict or found.why
            tone = VERDICT_TONES.get(found.verdict, "")
            rows.append(row(figure.label, pair, mean, interval, verdict, tone=tone))
    return Table(
        title=f"Differences {f'against {CONTROL}' if control else 'between arms'}",
        columns=("figure", "difference", "mean", "95 % interval", "verdict"),
        rows=rows,
        note=PAIRS_NOTE,
    )


def costs_table(record: StudyRecord) -> Table:
    """Show what every arm has cost: means over its runs, with the state of each."""
    rows = []
    for arm, found in record.arms.items():
        runs = list(found.runs.values())
        operations = mean_of(run.flops for run in runs)
        rows.append(
            row(
                arm,
                f"{found.parameters / 1e6:.2f} M",
                number(mean_of(run.steps for run in runs), 0),
                number(mean_of(run.tokens for run in runs), 0),
                NOTHING if operations is None else f"{operations:.3g}",
                number(mean_of(run.seconds for run in runs), 0),
                number(mean_of(run.probe_seconds for run in runs), 0),
                ", ".join(f"{seed} {run.state}" for seed, run in found.runs.items()),
            )
        )
    columns = ("arm", "parameters", "steps", "tokens", "operations", "seconds", "seconds of probes", "seeds")
    return Table(columns=columns, rows=rows, note=COSTS_NOTE)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known, or None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def arms_table(record: StudyRecord) -> Table:
    """Show what every arm has that the first has not."""
    rows = []
    for place, (arm, found) in enumerate(record.arms.items()):
        differs = "; ".join(f"{path}: {a} → {b}" for path, a, b in found.differs)
        rows.append(row(arm, differs if place else "the first"))
    return Table(columns=("arm", "differs from the first in"), rows=rows)


def facts(record: StudyRecord) -> list[str]:
    """Say in sentences what was equal for all arms, on what it ran, and what a reader must know of the figures."""
    text, machine, arms = record.text, record.machine, record.starts_from_text
    sentences = [
        f"{budget_sentence(record)} Seeds: {', '.join(map(str, record.seeds))}.",
        f"Text: {text.num_tokens:,} tokens of {text.num_documents:,} documents, {text.vocabulary:,} pieces.",
        f"Machine: {machine['processor']}, {machine['cores']} cores, torch {machine['torch']}, spanwise "
        f"{machine['spanwise']}.",
    ]
    if len(record.measured_where) > 1:  # the study has gone on elsewhere
        places = [", ".join(f"{key} {value}" for key, value in where.items()) for where in record.measured_where]
        sentences.append(f"Figures come from several places, whose last digits may differ: {'; '.join(places)}.")
    files = {probe: [file["name"] for file in found.values()] for probe, found in record.probe_files.items()}
    if shown := [f"{probe}: {', '.join(names)}" for probe, names in files.items() if names]:
        sentences.append(f"Files of the probes: {'; '.join(shown)}.")
    if arms and record.control_of:
        who = "All arms begin" if len(arms) == len(record.arms) else f"{', '.join(arms)} begin"
        sentences.append(
            f"{who} with values counted in the text, which random weights are without: their gain holds both."
        )
    return [*sentences, *unfinished(record), *record.notes]


def budget_sentence(record: StudyRecord) -> str:
    """Say what is equal for all arms, and the tokens of each where they are not equal."""
    budget = record.budget
    by_arm = ", ".join(f"{arm} {tokens:,}" for arm, tokens in budget.tokens.items())
    if budget.kind == "compute":
        return f"Every arm has {budget.value:.3g} training operations; tokens: {by_arm}."
    if budget.kind == "seconds":
        rates = ", ".join(f"{arm} {rate:,.0f}" for arm, rate in budget.rates.items())
        return (
            f"Every arm trains for {budget.value:,.0f} seconds, by tokens per second that were measured once, each arm "
            f"alone: {rates}; tokens: {by_arm}."
        )
    if len(set(budget.tokens.values())) > 1:
        return f"Tokens that the arms read: {by_arm}."
    return f"Every arm reads {next(iter(budget.tokens.values())):,} tokens."


def unfinished(record: StudyRecord) -> list[str]:
    """Name the runs that diverged, and the runs that are still to be done."""
    diverged = [f"{name} diverged: {run.why}" for name, run in record.runs if run.state == "diverged"]
    left = [name for name, run in record.runs if run.state in ("new", "begun")]
    return [*diverged, *([f"Not finished: {', '.join(left)}."] if left else [])]


def bars(record: StudyRecord) -> list[Bars]:
    """Draw for every probe the means of per cent figures, with the 95 % interval of each mean as a whisker."""
    tones = {arm: tone_of(place) for place, arm in enumerate(record.arms)}
    groups: dict[str, list[BarGroup]] = {}
    for figure in measured(record, main=True):
        columns = [
            *((CONTROL, "control", column) for column in figure.controls.values()),
            *((arm, tones[arm], column) for arm, column in figure.arms.items()),
        ]
        shown = [
            Bar(
                label=label,
                percent=clipped(column.mean),
                text=number(column.mean, 2),
                tone=tone,
                low=None if column.low is None else clipped(column.low),
                high=None if column.high is None else clipped(column.high),
            )
            for label, tone, column in columns
            if column.mean is not None
        ]
        if shown and figure.unit == "%":
            groups.setdefault(figure.probe, []).append(BarGroup(label=figure.label, bars=shown))
    legend = [*([(CONTROL, "control")] if record.control_of else []), *tones.items()]
    note = "Whiskers: 95 % interval of a mean over seeds. Paired differences are often surer."
    return [Bars(title=probe, groups=found, legend=legend, note=note) for probe, found in groups.items()]


def charts(record: StudyRecord) -> list[Chart | None]:
    """Draw one chart per loss: training solid, held-out text dashed; means over seeds."""
    drawn = {arm for arms in record.curves.values() for arm, curve in arms.items() if curve.tokens}
    diverged = {arm for arm, one in record.arms.items() for run in one.runs.values() if run.state == "diverged"}
    silent = sorted(diverged - drawn)
    no_curve = f" No curve of {', '.join(silent)}: a seed diverged before it had logged a step." if silent else ""
    found = []
    for loss, arms in record.curves.items():
        lines = []
        for place, (arm, curve) in enumerate(arms.items()):
            tone, held_out = tone_of(place), curve.held_out
            lines.append(Line(label=arm, x=curve.tokens, y=curve.mean, tone=tone))
            if len(held_out.tokens) > 1:
                label = f"{arm}, held out"
                lines.append(Line(label=label, x=held_out.tokens, y=held_out.mean, tone=tone, dashed=True))
        note = CURVES_NOTE + no_curve
        found.append(draw_chart(f"{loss} loss", lines, x_label="tokens read", y_label="nats", note=note))
    return found
