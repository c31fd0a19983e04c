"""The record of an adaptation as a page, in the words of its language. Nothing is computed here."""

from collections.abc import Sequence
from typing import Literal

from spanwise.pretraining.comparison import Measure
from spanwise.quickstart.adapting.record import AdaptedRecord, TwoAnswers
from spanwise.quickstart.page import clock, filled_table, highlight, measure_table, time_blocks
from spanwise.quickstart.texts import Words, words_of
from spanwise.reporting.page import (
    NOTHING,
    Block,
    Commands,
    Highlight,
    MaskedText,
    Page,
    Prose,
    Section,
    Tile,
    Tiles,
    number,
)

CALLED = {"init": "before", "trained": "after"}  # headings of these columns here
TILES = (("mlm_loss", 2, "bigram"), ("mlm_spans", 1, "bigram"), ("exact", 1, "lexical"))  # the last counts words


def build_adapted_page(record: AdaptedRecord) -> Page:
    """Lay out what came of adapting the model that ships."""
    words = words_of(record.language)
    threads = int(record.machine["threads"])
    cores = words("core" if threads == 1 else "cores", number=threads)
    text = words[f"a_text_{record.text.source}_{record.text.bundle}"]
    sections: list[tuple[str, str, str, Sequence[Block | None]]] = [
        ("what", "what", "", (tiles([*record.measures, *record.questions.measures], words), story(record, words))),
        ("hidden", "a_nav_hidden", hidden_lead(record, words), hidden_blocks(record, words)),
        ("questions", "nav_questions", questions_lead(record, words), question_blocks(record, words)),
        ("time", "nav_time", "", time_blocks(record, words)),
        ("again", "nav_again", "", (Commands(lines=record.commands),)),
    ]
    return Page(
        title=words("a_title", minutes=clock(record.total_seconds, record.language)),
        subtitle=words("a_subtitle", start=record.adaptation.start, text=text, cores=cores),
        sections=[Section(key=key, title=words[name], lead=lead, blocks=shown) for key, name, lead, shown in sections],
        language=record.language,
        footer=f"{record.spanwise} · {words[f'a_licences_{record.text.bundle}']}",
    )


def tiles(measures: Sequence[Measure], words: Words) -> Tiles:
    """Show the loss, the hidden words and the questions after, and both things that they stand beside."""
    shown, of_key = [], {measure.key: measure for measure in measures}
    for key, digits, counting in TILES:
        measure = of_key[key]
        before, after, counted = (number(measure.values[name].value, digits) for name in ("init", "trained", counting))
        verdict, verdict_counted = verdicts = [measure.gains[name].verdict.split()[0] for name in ("init", counting)]
        note = words(
            "a_tile_note",
            before=before,
            verdict=words[f"a_tile_{verdict}"],
            counted=counted,
            verdict_counted=words[f"a_tile_{verdict_counted}"],
        )
        tone: Literal["good", "bad", "muted"] = (
            "bad" if "below" in verdicts else "muted" if "not" in verdicts else "good"
        )
        shown.append(Tile(label=words[f"a_tile_{key}"], value=after, note=note, tone=tone))
    return Tiles(tiles=shown)


def story(record: AdaptedRecord, words: Words) -> Prose:
    """Say what was done, what it cost on general text, and what to expect of a text like this."""
    done, text = record.adaptation, record.text
    facts = {
        "start": done.start,
        "tokens": f"{done.num_own_tokens:,}",
        "read": f"{done.num_tokens:,}",
        "steps": f"{done.num_steps:,}",
        "kept": f"{done.kept_step:,}",
        "way": words("a_way", share=f"{done.kept_share:.0%}") if done.kept_share < 1 else "",
        "kept_out": f"{text.num_valid_tokens:,}",
        "before": number(done.general_before, 3),
        "after": number(done.general_after, 3),
    }
    keys = ["a_what_1", "a_what_adapted" if done.is_adapted else "a_what_unchanged"]
    if not done.num_steps:
        keys = ["a_what_no_step"]
    told = [words(key, **facts) for key in keys]
    return Prose(paragraphs=[*text.notes, *told, words("a_what_columns", **facts)])


def hidden_lead(record: AdaptedRecord, words: Words) -> str:
    """Say what was measured on."""
    key = f"a_hidden_lead_{record.text.source}"
    return words(key, tokens=f"{record.num_hidden:,}", documents=f"{record.text.num_valid_documents:,}")


def hidden_blocks(record: AdaptedRecord, words: Words) -> Sequence[Block | None]:
    """Show the measures, and sentences with their gaps filled before and after."""
    references = ("init", "bigram", "control")
    blocks: list[Block | None] = [
        measure_table(record.measures, words, words["a_hidden_note"], references=references, called=CALLED)
    ]
    for index, filled in enumerate(record.filled):
        blocks.append(MaskedText(title=words("a_filled_title", number=index + 1), runs=filled.runs))
        blocks.append(filled_table(filled, words, words["a_filled_note"]))
    return blocks


def questions_lead(record: AdaptedRecord, words: Words) -> str:
    """Say what was asked."""
    asked = record.questions
    key = f"a_questions_lead_{record.text.source}"
    return words(key, questions=asked.num_questions, passages=asked.num_passages)


def question_blocks(record: AdaptedRecord, words: Words) -> Sequence[Block | None]:
    """Show the scores, whether adapting changed them, and some answers."""
    exact = next(measure for measure in record.questions.measures if measure.key == "exact")
    gain = exact.gains.get("init")
    verdict = f"a_answers_{gain.verdict.split()[0]}" if gain else "a_answers_not"
    note = f"{words('a_questions_note', answering=record.questions.answering)} {words[verdict]}"
    references = ("init", "lexical", "control")
    return (
        measure_table(record.questions.measures, words, note, references=references, called=CALLED),
        *(both_answers(one, words) for one in record.answers),
        Prose(paragraphs=[words["a_answers_note"]]) if record.answers else None,
    )


def both_answers(answers: TwoAnswers, words: Words) -> Highlight:
    """Mark the answer of the adapted model, and say what was answered before."""
    shown = highlight(answers.after, words)
    before = words("a_fact_before", answer=answers.before.answer or NOTHING)
    if answers.before.gold:
        before = f"{before} ({words['right' if answers.before.exact else 'wrong']})"
    return Highlight(
        question=shown.question,
        before=shown.before,
        answer=shown.answer,
        after=shown.after,
        facts=[*shown.facts, before],
        tone=shown.tone,
    )
