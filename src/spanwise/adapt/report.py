"""What an adaptation won and lost, in plain sentences: for the terminal and for the model card."""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.adapt.objectives import HEADS, SELECTION, Chosen
from spanwise.adapt.proof import UNPROVEN, Proof
from spanwise.adapt.record import AdaptationRecord, Check, Figure

NAMES = {"mlm": "masked tokens", "sbo": "span boundary", SELECTION: "span selection"}


def sentences(record: AdaptationRecord) -> list[str]:
    """The report of an adaptation, a sentence or two per line."""
    return [
        _texts(record),
        *_conditions(record),
        _own(record),
        _general(record),
        *verdict(record),
        *_proof(record),
        *_tasks(record),
        f"Model: {record.final}",
    ]


def counted_in(objective: Chosen, unit: str) -> str:
    """Return what losses are divided by, in words: hidden tokens (`unit`), questions, or each head by its own."""
    heads = HEADS[objective]
    if SELECTION not in heads:
        return f"hidden {unit}"
    return f"hidden {unit} and question" if len(heads) > 1 else "question"


def card_facts(
    start: str,
    texts: Sequence[str],
    before: Mapping[str, float],
    per: str,
    check: Check | None,
    proof: Proof | None = None,
) -> list[str]:
    """The sentences of a model card: what it was adapted from and on, with figures before and after, in nats `per`
    token or question. Without a check it is the start itself."""
    named = ", ".join(texts[:3]) + (", ..." if len(texts) > 3 else "")
    if check is None and proof is not None:
        return [f"This is {start}, kept unchanged: adapted to {named} it was no better. {_compared(proof)}"]
    if check is None:
        return [
            f"This is {start}, kept unchanged: going on with it on {named} made no step that was better there by more "
            "than its error without losing more than allowed on general text."
        ]
    return [
        f"Adapted from {start} on {named} by `spanwise adapt`{_way(check, 'to what was learned')}.",
        f"Loss on held-out text of that kind, in nats per {per}: {before['own']:.3f} before, "
        f"{check.own:.3f} after ({check.gain:.3f} lower; 95 % {check.low:.3f} to {check.high:.3f}, paired "
        f"over documents). On held-out general text: {before['general']:.3f} before, {check.general:.3f} after.",
    ]


def _texts(record: AdaptationRecord) -> str:
    own = record.own_text
    what = "parts of documents" if own.by_parts else "documents"
    went = "went on" if record.num_steps else "was to go on"
    return (
        f"{record.start} {went} with {own.num_tokens:,} tokens of your text ({own.num_documents:,} documents), mixed "
        f"with {record.general_text} ({record.replay_share:.0%} of what is read); {own.held_out_documents} {what} of "
        "yours were kept out and measured."
    )


def _conditions(record: AdaptationRecord) -> list[str]:
    """What a person must know to read the figures."""
    lines = list(record.notes)
    if record.own_text.by_parts:
        lines.append(
            f"Your text has only {record.own_text.num_documents} documents, so parts of ten sentences were kept out of "
            "documents that were also learned from; on a new document expect less."
        )
    if record.fresh_heads:
        heads = " and ".join(NAMES.get(name, name) for name in record.fresh_heads)
        lines.append(
            f"The start had no head for {heads}: it was taught first, on general text with the encoder still, and "
            "'before' is measured after that, so a head alone wins nothing."
        )
    if record.is_unjudged and record.kept is not None and record.proof is None:
        lines.append(
            "A model without any such head was made for something else, and this loss does not tell whether it is "
            "better or worse at that now: teach start and result your task, and compare. All-MiniLM-L6 lost by it."
        )
    unmeasured = [name for name in HEADS[record.objective] if name not in record.before.own.objectives]
    if unmeasured:
        heads = " and ".join(NAMES[name] for name in unmeasured)
        lines.append(f"What is kept out of your text leaves nothing to measure of {heads}.")
    if record.new_pieces:
        shown = ", ".join(record.new_pieces[:5]) + (", ..." if len(record.new_pieces) > 5 else "")
        lines.append(
            f"{len(record.new_pieces)} words became pieces ({shown}). 'Before' is the start with its own vocabulary, "
            "and losses are per character of the hidden words, as tokens are not the same ones."
        )
    return lines


def _own(record: AdaptationRecord) -> str:
    before, after = record.before.own, record.after.own
    if record.kept is None:
        return f"On your held-out text its loss is {_shown(before, record)}."
    kept = record.kept
    reached = _reached(kept.own, after, record)
    return (
        f"On your held-out text the loss fell from {before.loss:.3f} to {reached}: {kept.gain:.3f} "
        f"lower (95 %: {kept.low:.3f} to {kept.high:.3f}, over {after.num_clusters} documents or groups of them)."
    )


def _general(record: AdaptationRecord) -> str:
    before, after = record.before.general, record.after.general
    if record.kept is None:
        return f"On general held-out text its loss is {_shown(before, record)}."
    rise = record.kept.general_rise
    moved = "rose" if rise > 0 else "fell"
    return (
        f"On general held-out text it {moved} by {abs(rise):.1%}, from {before.loss:.3f} to "
        f"{_reached(record.kept.general, after, record)}; up to {record.general_bound:.1%} more was allowed."
    )


def verdict(record: AdaptationRecord) -> list[str]:
    """What is kept, and why."""
    kept = record.kept
    beyond = [check for check in record.checks if check.share == 1 and not check.is_within_bound]
    lines = []
    if beyond:
        steps = f"{_steps(beyond)} of {record.num_steps:,} the general loss had"
        worst = max(check.general_rise for check in beyond)
        lines.append(
            f"At {steps} risen beyond that bound (by {worst:.1%}), so those weights were not taken"
            f"{_tried(record, beyond)}."
        )
    if kept is not None:
        what = "Kept" if record.outcome == "adapted" else "Best by this loss"
        lines.append(f"{what}: the weights of step {kept.step:,} of {record.num_steps:,}{_way(kept, 'to them')}.")
        return lines
    if not record.checks:
        return ["The start is kept unchanged, which is no win: no step was made."]
    within = [check for check in record.checks if check.is_within_bound]
    best = max(within or record.checks, key=lambda check: check.gain)
    if math.isnan(best.low):
        return [
            *lines,
            f"The start is kept unchanged, which is no win: what was kept out of your text is one document or as short "
            f"as one, which gives no error to judge the change of {best.gain:+.3f} by. Give more text.",
        ]
    closest = (
        f" (the best{' within it' if within else ''}: {best.gain:+.3f}, 95 % {best.low:+.3f} to {best.high:+.3f}, "
        f"general loss {best.general_rise:+.1%})"
    )
    lines.append(
        "The start is kept unchanged, which is no win: no step was better on your text by more than its error while "
        f"general text stayed within the bound{closest}. More text or a longer run may change that."
    )
    return lines


def _proof(record: AdaptationRecord) -> list[str]:
    """Tell what labels say of start and result."""
    proof = record.proof
    if proof is None:
        return []
    if proof.is_won:
        return [f"{_compared(proof)} So the result is kept."]
    why = "The seeds differ by more than that"
    if proof.high < 0:
        why = "So adapting did harm"
    elif proof.low == proof.high == 0:
        why = "Both score the same with every seed"
    elif math.isnan(proof.gain):
        why = "They can't be compared"
    return [
        f"{_compared(proof)} {why}: the start is kept, and the adapted weights lie in "
        f"{Path(record.final).with_name(UNPROVEN)}."
    ]


def _compared(proof: Proof) -> str:
    means = [statistics.fmean(scores) for scores in (proof.start, proof.adapted)]
    return (
        f"Taught the labels of {proof.task} with {len(proof.start)} seeds, the start has {proof.score} {means[0]:.1f} "
        f"and the adapted model {means[1]:.1f}, {proof.gain:+.1f} (95 %: {proof.low:+.1f} to {proof.high:+.1f})."
    )


def _tasks(record: AdaptationRecord) -> list[str]:
    """Tell what became of the tasks that the start had."""
    if not record.tasks:
        return []
    named = ", ".join(record.tasks)
    if record.outcome == "unchanged":
        return [f"Its tasks ({named}) are there unchanged too."]
    return [
        f"What the start learned of its tasks ({named}) was added to the adapted encoder without a step. No labelled "
        "example was at hand to measure them by: `spanwise evaluate TASK` with start and result tells what it changed."
    ]


def _tried(record: AdaptationRecord, beyond: Sequence[Check]) -> str:
    """Tell which parts of the way were measured in place of what was beyond the bound."""
    steps = {check.step for check in beyond}
    count = sum(check.share < 1 and check.step in steps for check in record.checks)
    parts = "a part of the way to them was measured" if count == 1 else f"{count} parts of the way were measured"
    return f" as they were; {parts}" if count else ""


def _way(check: Check, where: str) -> str:
    """Tell how far kept weights are from the start, where they are not those of the step."""
    return "" if check.share == 1 else f", {check.share:.0%} of the way from the start {where}"


def _steps(checks: Sequence[Check]) -> str:
    names = [f"{check.step:,}" for check in checks]
    return f"step {names[0]}" if len(names) == 1 else f"steps {', '.join(names[:-1])} and {names[-1]}"


def _reached(loss: float, after: Figure, record: AdaptationRecord) -> str:
    """Tell the loss of the best weights. Where labels put the start back, `after` is the start's, and the check's own
    loss is all that is known of them."""
    if record.outcome == "adapted":
        return _shown(after, record)
    return f"{loss:.3f} nats per {counted_in(record.objective, record.unit)}"


def _shown(figure: Figure, record: AdaptationRecord) -> str:
    parts = ", ".join(f"{NAMES.get(name, name)} {value:.3f}" for name, value in figure.objectives.items())
    several = f"; {parts}" if len(figure.objectives) > 1 else ""
    per = counted_in(record.objective, record.unit)
    error = "" if math.isnan(figure.standard_error) else f" ± {figure.standard_error:.3f}"
    return f"{figure.loss:.3f}{error} nats per {per}{several}"
