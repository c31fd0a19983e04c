"""The quickstart's record as a page: blocks of the report, in the words of its language. Nothing is computed here."""

import math
from collections.abc import Mapping, Sequence

from spanwise.pretraining.comparison import Gain, Measure
from spanwise.quickstart.clock import Stage
from spanwise.quickstart.record import AnswerRecord, FilledRecord, QuickstartRecord, RunRecord
from spanwise.quickstart.texts import Language, Words, words_of
from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.mask_picture import draw_masks
from spanwise.reporting.page import (
    NOTHING,
    Bar,
    BarGroup,
    Bars,
    Block,
    Cell,
    Commands,
    Highlight,
    MaskedText,
    Page,
    Prose,
    Section,
    Table,
    Tile,
    Tiles,
    Tone,
    number,
    row,
    signed,
)

COLUMNS = ("unigram", "bigram", "lexical", "control", "init", "trained", "shipped")
SPANBERT_TOKENS = 2.4e6 * 131_072  # SpanBERT, section 4.2: steps times tokens per step
FEWEST_POINTS = 3  # fewer would be a straight line that says nothing
BAR_TONES = {"trained": "ours", "init": "init", "control": "control", "bigram": "bigram"}
GAIN_TONES: dict[str, Tone] = {"above": "good", "not": "muted", "below": "bad"}


def build_page(record: QuickstartRecord) -> Page:
    """Lay out what came of a quickstart."""
    words = words_of(record.language)
    of_corpus = words(f"corpus_{record.corpus.source}", documents=f"{record.corpus.num_documents:,}")
    threads = int(record.machine["threads"])
    cores = words("core" if threads == 1 else "cores", number=threads)
    sections: list[tuple[str, str, str, Sequence[Block | None]]] = [
        ("what", "what", "", (tiles(record, words), story(record, words))),
        ("masks", "nav_masks", "", mask_blocks(record, words)),
        ("measures", "nav_measures", measures_lead(record, words), measure_blocks(record, words)),
        ("questions", "nav_questions", questions_lead(record, words), question_blocks(record, words)),
        ("time", "nav_time", "", time_blocks(record, words)),
        ("again", "nav_again", words["again_lead"], (Commands(lines=record.commands),)),
    ]
    return Page(
        title=words("title", minutes=clock(record.total_seconds, record.language)),
        subtitle=words("subtitle", corpus=of_corpus, cores=cores),
        sections=[Section(key=key, title=words[name], lead=lead, blocks=shown) for key, name, lead, shown in sections],
        language=record.language,
        footer=f"{record.spanwise} · {words[of_bundle(record, 'licences')]}",
    )


def of_bundle(record: QuickstartRecord, key: str) -> str:
    """Return the key of words about the bundled questions, which depend on their language."""
    return f"{key}_ko" if record.corpus.bundle == "ko" else key


def tiles(record: QuickstartRecord, words: Words) -> Tiles:
    """Show the tokens, the size, the losses and the F1."""
    model, read = record.model, record.pretraining
    shape = {"layers": model.num_layers, "hidden": model.hidden_size, "vocabulary": f"{model.vocab_size:,}"}
    epochs = words("tile_tokens_note", epochs=f"{read.num_epochs:.1f}")
    size = f"{model.num_parameters / 1e6:.2f} M"
    found = [
        Tile(label=words["tile_tokens"], value=f"{read.num_tokens / 1e6:.2f} M", note=epochs),
        Tile(label=words["tile_parameters"], value=size, note=words("tile_parameters_note", **shape)),
    ]
    for measure in record.measures:
        if measure.key in ("sbo_loss", "mlm_loss"):
            found.append(score_tile(measure, "unigram", 2, measure.key[:3], "tile_loss_note", words))
    f1 = next(measure for measure in record.qa.measures if measure.key == "f1")
    return Tiles(tiles=[*found, score_tile(f1, "control", 1, "f1", "tile_f1_note", words)])


def score_tile(measure: Measure, reference: str, digits: int, name: str, note: str, words: Words) -> Tile:
    """Show a measure of the trained column beside that of a reference."""
    gain = measure.gains.get(reference)
    return Tile(
        label=words[f"tile_{name}"],
        value=number(measure.values["trained"].value, digits),
        note=words(note, **{reference: number(measure.values[reference].value, digits)}),
        tone="good" if gain is not None and gain.verdict == f"above {reference}" else "muted",
    )


def story(record: QuickstartRecord, words: Words) -> Prose:
    """Say in four paragraphs what was done."""
    first = "what_1" if record.corpus.is_vocabulary_learned else "what_1_given"
    facts = {
        "vocabulary": f"{record.model.vocab_size:,}",
        "tokens": f"{record.corpus.num_tokens:,}",
        "qa_train": f"{record.qa.num_train_questions:,}",
        "qa_dev": f"{record.qa.num_scored_questions:,}",
        "times": round_figure(SPANBERT_TOKENS / max(1, record.pretraining.num_tokens)),
        "qa_articles": record.qa.num_dev_articles,
    }
    return Prose(paragraphs=[words(key, **facts) for key in (first, "what_2", "what_3", "what_4")])


def mask_blocks(record: QuickstartRecord, words: Words) -> Sequence[Block | None]:
    """Show a paragraph with its hidden spans, and the picture of many."""
    masks = record.masks
    paragraph = MaskedText(
        title=words["masks_title"],
        runs=masks.runs,
        note=words("masks_note", hidden=masks.num_hidden, tokens=masks.num_tokens, spans=masks.num_spans),
        legend=[(shown, words[f"shown_{shown}"]) for shown in ("mask", "random", "unchanged")],
    )
    return paragraph, draw_masks(words["picture_title"], masks.lengths, masks.spans, note=words["picture_note"])


def measures_lead(record: QuickstartRecord, words: Words) -> str:
    """Say what was measured on."""
    key = "measures_lead" if record.corpus.source == "bundled" else "measures_lead_files"
    return words(key, tokens=f"{record.num_hidden:,}", documents=record.corpus.num_valid_documents)


def measure_blocks(record: QuickstartRecord, words: Words) -> Sequence[Block | None]:
    """Show the measures of the held-out text, the curves, and a sentence that was filled."""
    return (
        measure_table(record.measures, words, note=words["measures_note"]),
        *(curve(name, record, words) for name in ("mlm", "sbo")),
        *(distance_bars(name, record.by_distance.get(name, ()), words) for name in ("mlm", "sbo")),
        MaskedText(title=words["filled_title"], runs=record.filled.runs),
        filled_table(record.filled, words, words["filled_note"]),
    )


def measure_table(
    measures: Sequence[Measure],
    words: Words,
    note: str,
    *,
    references: Sequence[str] = ("unigram", "control"),
    called: Mapping[str, str] | None = None,
) -> Table:
    """Put the models side by side, a row per measure; the last columns say the paired gains and their verdicts.

    `called` gives columns another heading than their own: keys of `words`.
    """
    columns = [name for name in COLUMNS if any(name in measure.values for measure in measures)]
    references = [name for name in references if name in measures[0].gains]
    rows = []
    for measure in measures:
        digits = 3 if measure.better == "lower" else 1
        cells: list[Cell] = []
        for name in columns:
            tone: Tone
            mean = measure.values.get(name)
            error = f"± {number(mean.se, digits)}" if mean and mean.se is not None else ""
            strong, tone = bool(mean) and name == "trained", "" if mean else "muted"
            cells.append(Cell(text=number(mean.value if mean else None, digits), note=error, strong=strong, tone=tone))
        gains = [gain for name in references if (gain := measure.gains.get(name))]
        rows.append(row(words[measure.key], *cells, *(gain_cell(gain, digits, words) for gain in gains)))
    names = called or {}
    headings = [words["measure"], *(words[names.get(name, name)] for name in columns)]
    headings += [words[f"gain_{name}"] for name in references]
    return Table(columns=headings, rows=rows, note=note)


def gain_cell(gain: Gain, digits: int, words: Words) -> Cell:
    """Show a gain with its interval and verdict."""
    interval = "" if gain.low is None else f"[{signed(gain.low, digits)}, {signed(gain.high, digits)}]\n"
    tone = GAIN_TONES[gain.verdict.split()[0]]
    return Cell(text=signed(gain.value, digits), note=interval + words[gain.verdict], tone=tone)


def curve(name: str, record: QuickstartRecord, words: Words) -> Chart | None:
    """Draw the losses of a head against the levels of the columns that do not train."""
    measure = next((measure for measure in record.measures if measure.key == f"{name}_loss"), None)
    if measure is None:
        return None
    # Only the held-out line may be held against the levels: training leaves one hidden span in ten visible.
    known = {"valid": (record.pretraining.valid_curve, "ours"), "train": (record.pretraining.curve, "boundary")}
    lines = [
        Line(label=words[f"curve_{part}"], x=points["tokens"], y=points[name], tone=tone)
        for part, (points, tone) in known.items()
        if name in points and (part == "train" or len(points["tokens"]) >= FEWEST_POINTS)
    ]
    for level in ("unigram", "bigram", "control"):
        mean = measure.values.get(level)
        if mean is not None and mean.value is not None:
            lines.append(Line(label=words[level], x=[0], y=[mean.value], tone=level, dashed=True))
    lines = [line for line in lines if len(line.x) == len(line.y)]
    labels = {"x_label": words["curve_x"], "y_label": words["curve_y"], "note": words["curve_note"]}
    return draw_chart(words[f"curve_{name}"], lines, **labels)


def distance_bars(name: str, groups: Sequence[Measure], words: Words) -> Bars | None:
    """Draw accuracy bars on one common scale, with standard errors as whiskers."""
    if not groups:
        return None
    shown = [key for key in BAR_TONES if key in groups[0].values]
    means = [group.values[key] for group in groups for key in shown]
    tops = [mean.value + (mean.se or 0) for mean in means if mean.value is not None]
    scale = 100 / max(1e-9, *tops)
    drawn = []
    for group in groups:
        bars = []
        for key in shown:
            value, error = group.values[key].value or 0.0, group.values[key].se
            text = number(value, 1) + ("" if error is None else f" ± {number(error, 1)}")
            ends = (None, None) if error is None else (max(0.0, value - error) * scale, (value + error) * scale)
            bar = Bar(
                label=words[key], percent=value * scale, text=text, tone=BAR_TONES[key], low=ends[0], high=ends[1]
            )
            bars.append(bar)
        gain = group.gains.get("control")
        verdict = f", {words[gain.verdict]}" if gain else ""
        note = words("distance_count", count=f"{group.num_items:,}") + verdict
        drawn.append(BarGroup(label=words("distance_label", distance=group.distance), bars=bars, note=note))
    legend = [(words[key], BAR_TONES[key]) for key in shown]
    return Bars(title=words[f"distance_{name}"], groups=drawn, legend=legend, note=words["distance_note"])


def filled_table(filled: FilledRecord, words: Words, note: str) -> Table:
    """Show the likeliest tokens for each hidden place, by each way of guessing."""
    ways = filled.ways
    rows = []
    for place in filled.places:
        cells = []
        for way in ways:
            guesses = place.guesses[way]
            text = " · ".join(f"{token}\u00a0{100 * chance:.0f}\u00a0%" for token, chance in guesses)
            cells.append(Cell(text=text, strong=bool(guesses) and guesses[0][0] == place.truth))
        rows.append(row(place.truth, *cells))
    columns = [words["filled_place"], *(words[f"filled_{way}"] for way in ways)]
    return Table(columns=columns, rows=rows, note=note)


def questions_lead(record: QuickstartRecord, words: Words) -> str:
    """Say what was asked, and where it is in another language than the text."""
    lead = words(of_bundle(record, "qa_lead"), questions=f"{record.qa.num_scored_questions:,}")
    is_other = record.corpus.language not in (None, record.corpus.bundle)
    return f"{words['qa_other_language']} {lead}" if is_other else lead


def question_blocks(record: QuickstartRecord, words: Words) -> Sequence[Block | None]:
    """Show the scores and some answers."""
    qa, note = record.qa, words["answers_note"]
    if qa.answered_by == "shipped":
        note = f"{note} {words('answered_by_shipped', model=qa.shipped)}"
    return (
        measure_table(qa.measures, words, note=words("qa_table_note", steps=f"{qa.num_steps:,}")),
        *(highlight(answer, words) for answer in record.answers),
        Prose(paragraphs=[note]) if record.answers else None,
    )


def highlight(answer: AnswerRecord, words: Words) -> Highlight:
    """Mark an answer in its paragraph."""
    judged = [words["fact_yours"]]
    if answer.gold:
        judged = [words("fact_gold", gold=" / ".join(answer.gold)), words["right" if answer.exact else "wrong"]]
    return Highlight(
        question=answer.question,
        before=answer.context[: answer.start],
        answer=answer.context[answer.start : answer.end],
        after=answer.context[answer.end :].rstrip(),
        facts=[
            words("fact_answer", answer=answer.answer or NOTHING),
            *judged,
            words("fact_score", score=number(answer.score, 3)),
        ],
        tone="good" if answer.exact else "",
    )


def time_blocks(record: RunRecord, words: Words) -> Sequence[Block | None]:
    """Show where the time went, and on which machine."""
    return (
        time_bars(record.stages, record.total_seconds, record.budget_seconds, words, record.language),
        machine_table(record.machine, words),
    )


def time_bars(stages: Sequence[Stage], total: float, budget: float, words: Words, language: Language) -> Bars:
    """Draw the seconds of the stages."""
    longest = max((stage.seconds for stage in stages), default=1.0) or 1.0
    groups = []
    for stage in stages:
        label, text = words[f"stage_{stage.name}"], clock(stage.seconds, language)
        groups.append(BarGroup(label=label, bars=[Bar(label=label, percent=100 * stage.seconds / longest, text=text)]))
    note = words("time_note", total=clock(total, language), budget=clock(budget, language))
    return Bars(title=words["time_title"], groups=groups, note=note)


def machine_table(machine: Mapping[str, str | int], words: Words) -> Table:
    """Say what the machine is."""
    return Table(columns=[words["machine"], ""], rows=[row(key, str(value)) for key, value in machine.items()])


def round_figure(value: float) -> str:
    """Write one digit and zeros: 78643 -> '80,000'."""
    size = 10 ** math.floor(math.log10(max(1.0, value)))
    return f"{round(value / size) * size:,.0f}"


def clock(seconds: float, language: Language) -> str:
    """Write a time: 43 -> '43 s', 475 -> '7 min 55 s'."""
    minutes, rest = divmod(round(seconds), 60)
    if language == "ko":
        return " ".join([f"{minutes}분"] * bool(minutes) + [f"{rest}초"] * bool(rest or not minutes))
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s" if seconds < 10 else f"{rest} s"
