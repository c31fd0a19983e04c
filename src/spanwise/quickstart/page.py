"""The quickstart's result as a page: result.json in, blocks of the report out. Nothing is computed here."""

from __future__ import annotations

import math
from typing import Any

from spanwise.quickstart.texts import TEXTS
from spanwise.reporting.curves import Chart, Line, draw_chart
from spanwise.reporting.mask_picture import draw_masks
from spanwise.reporting.page import (
    Bar,
    BarGroup,
    Bars,
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
)
from spanwise.reporting.spans import Run

COLUMNS = ("unigram", "bigram", "control", "init", "trained", "shipped")
SPANBERT_TOKENS = 2.4e6 * 131_072  # SpanBERT, section 4.2: steps times tokens a step
FEWEST_POINTS = 3  # fewer would be a straight line that says nothing
BAR_TONES = {"trained": "ours", "init": "init", "control": "control", "bigram": "bigram"}


def build_page(result: dict[str, Any]) -> Page:
    """Lay out a result (see `quickstart.run.quickstart` for its keys)."""
    language = result["language"]
    words = TEXTS[language]
    corpus = result["corpus"]
    of_corpus = words[f"corpus_{corpus['source']}"].format(documents=f"{corpus['num_documents']:,}")
    return Page(
        title=words["title"].format(minutes=clock(result["total_seconds"], language)),
        subtitle=words["subtitle"].format(corpus=of_corpus, cores=cores_text(result["machine"]["threads"], words)),
        sections=(
            Section(key="what", title=words["what"], blocks=(tiles(result, words), story(result, words))),
            masks_section(result, words),
            measures_section(result, words),
            questions_section(result, words),
            time_section(result, words),
            Section(
                key="again",
                title=words["nav_again"],
                lead=words["again_lead"],
                blocks=(Commands(lines=[tuple(line) for line in result["commands"]]),),
            ),
        ),
        language=language,
        footer=f"{result['spanwise']} · {of_bundle(result, words, 'licences')}",
    )


def of_bundle(result: dict[str, Any], words: dict[str, str], key: str) -> str:
    """What is said of the bundled questions and their licence, by the language of the bundle."""
    return words[f"{key}_ko" if result["corpus"]["bundle"] == "ko" else key]


def tiles(result: dict[str, Any], words: dict[str, str]) -> Tiles:
    pretraining, model = result["pretraining"], result["model"]
    found = [
        Tile(
            label=words["tile_tokens"],
            value=f"{pretraining['num_tokens'] / 1e6:.2f} M",
            note=words["tile_tokens_note"].format(epochs=f"{pretraining['num_epochs']:.1f}"),
        ),
        Tile(
            label=words["tile_parameters"],
            value=f"{model['num_parameters'] / 1e6:.2f} M",
            note=words["tile_parameters_note"].format(
                layers=model["num_layers"], hidden=model["hidden_size"], vocabulary=f"{model['vocab_size']:,}"
            ),
        ),
    ]
    for measure in result["measures"]:
        if measure["key"] in ("sbo_loss", "mlm_loss"):
            found.append(
                Tile(
                    label=words["tile_" + measure["key"][:3]],
                    value=number(measure["values"]["trained"]["value"], 2),
                    note=words["tile_loss_note"].format(unigram=number(measure["values"]["unigram"]["value"], 2)),
                    tone="good" if measure["against_unigram"]["verdict"] == "above unigram" else "muted",
                )
            )
    f1 = next(measure for measure in result["qa"]["measures"] if measure["key"] == "f1")
    found.append(
        Tile(
            label=words["tile_f1"],
            value=number(f1["values"]["trained"]["value"], 1),
            note=words["tile_f1_note"].format(control=number(f1["values"]["control"]["value"], 1)),
            tone="good" if f1["against_control"]["verdict"] == "above control" else "muted",
        )
    )
    return Tiles(tiles=found)


def story(result: dict[str, Any], words: dict[str, str]) -> Prose:
    facts = {
        "vocabulary": f"{result['model']['vocab_size']:,}",
        "tokens": f"{result['corpus']['num_tokens']:,}",
        "qa_train": f"{result['qa']['num_train_questions']:,}",
        "qa_dev": f"{result['qa']['num_scored_questions']:,}",
        "times": round_figure(SPANBERT_TOKENS / max(1, result["pretraining"]["num_tokens"])),
        "qa_articles": result["qa"]["num_dev_articles"],
    }
    first = "what_1" if result["corpus"]["is_vocabulary_learned"] else "what_1_given"
    return Prose(paragraphs=[words[key].format(**facts) for key in (first, "what_2", "what_3", "what_4")])


def masks_section(result: dict[str, Any], words: dict[str, str]) -> Section:
    masks = result["masks"]
    paragraph = MaskedText(
        title=words["masks_title"],
        runs=[Run(**run) for run in masks["runs"]],
        note=words["masks_note"].format(
            hidden=masks["num_hidden"], tokens=masks["num_tokens"], spans=masks["num_spans"]
        ),
        legend=[(shown, words[f"shown_{shown}"]) for shown in ("mask", "random", "unchanged")],
    )
    picture = draw_masks(
        words["picture_title"], masks["lengths"], [tuple(s) for s in masks["spans"]], note=words["picture_note"]
    )
    return Section(key="masks", title=words["nav_masks"], blocks=(paragraph, picture))


def measures_section(result: dict[str, Any], words: dict[str, str]) -> Section:
    corpus = result["corpus"]
    lead = words["measures_lead" if corpus["source"] == "bundled" else "measures_lead_files"]
    return Section(
        key="measures",
        title=words["nav_measures"],
        lead=lead.format(tokens=f"{result['num_hidden']:,}", documents=corpus["num_valid_documents"]),
        blocks=(
            measure_table(result["measures"], words, note=words["measures_note"]),
            curve("mlm", result, words),
            curve("sbo", result, words),
            *(distance_bars(name, result["by_distance"][name], words) for name in ("mlm", "sbo")),
            filled_text(result, words),
            filled_table(result, words),
        ),
    )


def measure_table(measures: list[dict[str, Any]], words: dict[str, str], note: str) -> Table:
    """One row a measure, one column a model; the last column says the paired gain and its verdict."""
    columns = [name for name in COLUMNS if any(name in measure["values"] for measure in measures)]
    references = [name for name in ("unigram", "control") if f"against_{name}" in measures[0]]
    rows = []
    for measure in measures:
        digits = 3 if measure["better"] == "lower" else 1
        row = [Cell(text=words[measure["key"]], strong=True)]
        for name in columns:
            value = measure["values"].get(name)
            if value is None:
                row.append(Cell(text="–", tone="muted"))
                continue
            error = "" if value["se"] is None else f"± {number(value['se'], digits)}"
            row.append(Cell(text=number(value["value"], digits), note=error, strong=name == "trained"))
        row += [gain_cell(measure[f"against_{name}"], digits, words) for name in references]
        rows.append(row)
    gains = [words[f"gain_{name}"] for name in references]
    return Table(columns=[words["measure"], *(words[name] for name in columns), *gains], rows=rows, note=note)


def gain_cell(difference: dict[str, Any], digits: int, words: dict[str, str]) -> Cell:
    verdict: str = difference["verdict"]
    tones: dict[str, Tone] = {"above": "good", "not": "muted", "below": "bad"}
    tone = tones[verdict.split()[0]]
    interval = ""
    if difference["low"] is not None:
        interval = f"[{signed(difference['low'], digits)}, {signed(difference['high'], digits)}]\n"
    return Cell(text=signed(difference["value"], digits), note=interval + words[verdict], tone=tone)


def curve(name: str, result: dict[str, Any], words: dict[str, str]) -> Chart | None:
    measure = next((m for m in result["measures"] if m["key"] == f"{name}_loss"), None)
    if measure is None:
        return None
    train, valid = result["pretraining"]["curve"], result["pretraining"]["valid_curve"]
    # Only the held-out line may be held against the levels: training leaves one hidden span in ten visible.
    lines = []
    if len(valid["tokens"]) >= FEWEST_POINTS:
        lines.append(Line(label=words["curve_valid"], x=valid["tokens"], y=valid.get(name, []), tone="ours"))
    lines.append(Line(label=words["curve_train"], x=train["tokens"], y=train.get(name, []), tone="boundary"))
    for level in ("unigram", "bigram", "control"):
        if level in measure["values"]:
            lines.append(
                Line(label=words[level], x=[0], y=[measure["values"][level]["value"]], tone=level, dashed=True)
            )
    lines = [line for line in lines if len(line.x) == len(line.y)]
    return draw_chart(
        words[f"curve_{name}"], lines, x_label=words["curve_x"], y_label=words["curve_y"], note=words["curve_note"]
    )


def distance_bars(name: str, groups: list[dict[str, Any]], words: dict[str, str]) -> Bars | None:
    """Accuracy bars on one common scale, with standard errors as whiskers."""
    if not groups:
        return None
    shown = [key for key in BAR_TONES if key in groups[0]["values"]]
    tops = [v["value"] + (v["se"] or 0) for group in groups for key, v in group["values"].items() if key in shown]
    scale = 100 / max(1e-9, max(top for top in tops if math.isfinite(top)))
    drawn = []
    for group in groups:
        bars = []
        for key in shown:
            value, error = group["values"][key]["value"], group["values"][key]["se"]
            bars.append(
                Bar(
                    label=words[key],
                    percent=value * scale,
                    text=f"{number(value, 1)}" + ("" if error is None else f" ± {number(error, 1)}"),
                    tone=BAR_TONES[key],
                    low=None if error is None else max(0.0, value - error) * scale,
                    high=None if error is None else (value + error) * scale,
                )
            )
        verdict = words[group["against_control"]["verdict"]]
        count = words["distance_count"].format(count=f"{group['num_items']:,}")
        label = words["distance_label"].format(distance=group["distance"])
        drawn.append(BarGroup(label=label, bars=bars, note=f"{count}, {verdict}"))
    return Bars(
        title=words[f"distance_{name}"],
        groups=drawn,
        legend=[(words[key], BAR_TONES[key]) for key in shown],
        note=words["distance_note"],
    )


def filled_text(result: dict[str, Any], words: dict[str, str]) -> MaskedText | None:
    if not result["filled"]:
        return None
    return MaskedText(title=words["filled_title"], runs=[Run(**run) for run in result["filled"]["runs"]])


def filled_table(result: dict[str, Any], words: dict[str, str]) -> Table | None:
    """The likeliest tokens for each hidden place, by each way of guessing."""
    if not result["filled"]:
        return None
    ways = [way for way in ("mlm", "sbo", "both", "control") if way in result["filled"]["places"][0]["guesses"]]
    rows = []
    for place in result["filled"]["places"]:
        row = [Cell(text=place["truth"], strong=True)]
        for way in ways:
            guesses = place["guesses"][way]
            text = " · ".join(f"{token}\u00a0{100 * chance:.0f}\u00a0%" for token, chance in guesses)
            row.append(Cell(text=text, strong=bool(guesses) and guesses[0][0] == place["truth"]))
        rows.append(row)
    columns = [words["filled_place"], *(words[f"filled_{way}"] for way in ways)]
    return Table(columns=columns, rows=rows, note=words["filled_note"])


def questions_section(result: dict[str, Any], words: dict[str, str]) -> Section:
    qa = result["qa"]
    return Section(
        key="questions",
        title=words["nav_questions"],
        lead=questions_lead(result, words),
        blocks=(
            measure_table(qa["measures"], words, note=words["qa_table_note"].format(steps=f"{qa['num_steps']:,}")),
            *(highlight(answer, words) for answer in result["answers"]),
            Prose(paragraphs=[answers_note(result, words)]) if result["answers"] else None,
        ),
    )


def answers_note(result: dict[str, Any], words: dict[str, str]) -> str:
    qa, note = result["qa"], words["answers_note"]
    if qa.get("answered_by") != "shipped":
        return note
    return f"{note} {words['answered_by_shipped'].format(model=qa['shipped'])}"


def questions_lead(result: dict[str, Any], words: dict[str, str]) -> str:
    corpus = result["corpus"]
    lead = of_bundle(result, words, "qa_lead").format(questions=f"{result['qa']['num_scored_questions']:,}")
    told = corpus.get("language")
    return lead if told in (None, corpus["bundle"]) else f"{words['qa_other_language']} {lead}"


def highlight(answer: dict[str, Any], words: dict[str, str]) -> Highlight:
    context, start, end = answer["context"], answer["start"], answer["end"]
    facts = [words["fact_answer"].format(answer=answer["answer"] or "–")]
    if answer["gold"]:
        facts.append(words["fact_gold"].format(gold=" / ".join(answer["gold"])))
        facts.append(words["right" if answer["exact"] else "wrong"])
    else:
        facts.append(words["fact_yours"])
    facts.append(words["fact_score"].format(score=number(answer["score"], 3)))
    return Highlight(
        question=answer["question"],
        before=context[:start],
        answer=context[start:end],
        after=context[end:].rstrip(),
        facts=facts,
        tone="good" if answer["exact"] else "",
    )


def time_section(result: dict[str, Any], words: dict[str, str]) -> Section:
    language = result["language"]
    longest = max((stage["seconds"] for stage in result["stages"]), default=1.0) or 1.0
    groups = [
        BarGroup(
            label=words[f"stage_{stage['name']}"],
            bars=[
                Bar(
                    label=words[f"stage_{stage['name']}"],
                    percent=100 * stage["seconds"] / longest,
                    text=clock(stage["seconds"], language),
                )
            ],
        )
        for stage in result["stages"]
    ]
    note = words["time_note"].format(
        total=clock(result["total_seconds"], language), budget=clock(result["budget_seconds"], language)
    )
    rows = [[Cell(text=str(key), strong=True), Cell(text=str(value))] for key, value in result["machine"].items()]
    return Section(
        key="time",
        title=words["nav_time"],
        blocks=(
            Bars(title=words["time_title"], groups=groups, note=note),
            Table(columns=[words["machine"], ""], rows=rows),
        ),
    )


def round_figure(value: float) -> str:
    """One digit and zeros: 78643 -> '80,000'."""
    size = 10 ** math.floor(math.log10(max(1.0, value)))
    return f"{round(value / size) * size:,.0f}"


def cores_text(number: int, words: dict[str, str]) -> str:
    return words["core" if number == 1 else "cores"].format(number=number)


def clock(seconds: float, language: str) -> str:
    """43 -> '43 s', 475 -> '7 min 55 s'."""
    minutes, rest = divmod(round(seconds), 60)
    if language == "ko":
        return " ".join(
            part for part in (f"{minutes}분" if minutes else "", f"{rest}초" if rest or not minutes else "") if part
        )
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s" if seconds < 10 else f"{rest} s"


def number(value: float | None, digits: int) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def signed(value: float | None, digits: int) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:+.{digits}f}".replace("-", "−")
