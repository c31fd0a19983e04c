"""What an adaptation learns: the heads that are asked for or that the start has, and the masks they are learned from.

| objective | heads |
|---|---|
| spans | masked tokens and the span boundary (SpanBERT) |
| mlm | masked tokens alone |
| selection | recurring span selection (Splinter): the pointer of the start goes on |
| both | those of spans, and selection in the same sequences |

"auto" takes the heads that the start has learned, so "mlm-selection" is a choice of it too.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from spanwise.adapt.options import OBJECTIVES, ObjectiveName
from spanwise.config import from_record
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint, read_tokenizer
from spanwise.interop.heads import size_of
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    NGrams,
    QuestionTokens,
    RecurringGroups,
    RecurringSpans,
    Replacement,
    SubwordTokens,
    TwoMaskings,
    WholeWords,
)
from spanwise.pretraining.masking.base import MaskingScheme, ReplacementScheme, given_by
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary, SpanSelection
from spanwise.pretraining.objectives.base import Objective
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer

Chosen = Literal["spans", "mlm", "selection", "both", "mlm-selection"]
SELECTION = "span_selection"
HEADS: dict[Chosen, tuple[str, ...]] = {
    "spans": ("mlm", "sbo"),
    "mlm": ("mlm",),
    "selection": (SELECTION,),
    "both": ("mlm", "sbo", SELECTION),
    "mlm-selection": ("mlm", SELECTION),
}
WORD_MASKINGS = (GeometricSpans, SubwordTokens, WholeWords, NGrams, MaskingMixture)  # those that need text alone
MASKINGS = (*WORD_MASKINGS, RecurringGroups, RecurringSpans, TwoMaskings)


def choose_objective(wanted: ObjectiveName, checkpoint: Checkpoint) -> Chosen:
    """Return the objective that was asked for, or with "auto" the one that the start has learned.

    Raises: ConfigError for another name; CheckpointError for a start that cannot learn any.
    """
    if wanted not in OBJECTIVES:
        raise ConfigError(f"objective {wanted!r} is unknown; use {', '.join(OBJECTIVES[:-1])} or {OBJECTIVES[-1]}.")
    if checkpoint.config.causal:
        raise CheckpointError(
            f"{checkpoint.folder} reads from left to right, and an adaptation hides tokens in the middle of a text; go "
            "on with it by `spanwise pretrain gpt1 --init`."
        )
    if wanted != "auto":
        return wanted
    if SELECTION not in checkpoint.heads:
        return "spans" if "sbo" in checkpoint.heads else "mlm"
    if "sbo" in checkpoint.heads:
        return "both"
    return "mlm-selection" if "mlm" in checkpoint.heads else "selection"


def tokenizer_for(objective: Chosen, checkpoint: Checkpoint) -> Tokenizer:
    """Return the start's tokenizer, with a piece for questions where the objective writes them.

    Raises: CheckpointError where there is none, or it has no place for a piece that the objective writes.
    """
    words = read_tokenizer(checkpoint)
    if words is None:
        raise CheckpointError(
            f"{checkpoint.folder} holds no tokenizer, so no text can be read with it; copy the files of its "
            "tokenizer (tokenizer.json or vocab.txt) into the folder."
        )
    if "mlm" in HEADS[objective] and words.mask_id < 0:
        raise CheckpointError(f"the tokenizer of {checkpoint.folder} has no mask token to hide words behind.")
    try:
        return with_roles(words, QuestionTokens.roles) if SELECTION in HEADS[objective] else words
    except CheckpointError as error:
        raise CheckpointError(
            f"objective {objective!r} puts a piece of its own in the place of a recurring span, and the tokenizer of "
            f"{checkpoint.folder} has no room for one: {error} Or learn --objective spans."
        ) from error


def objectives_of(objective: Chosen, checkpoint: Checkpoint) -> dict[str, Objective]:
    """Return what is learned, in the sizes of the heads that the start brings."""
    boundary = SpanBoundary()
    if "sbo" in checkpoint.heads:
        num_positions, position_size = size_of("sbo", checkpoint.heads["sbo"])
        boundary = SpanBoundary(num_positions=num_positions, position_size=position_size)
    known: dict[str, Objective] = {"mlm": MaskedLM(), "sbo": boundary, SELECTION: SpanSelection()}
    return {name: known[name] for name in HEADS[objective]}


def replacement_for(objective: Chosen, record: Mapping[str, Any]) -> ReplacementScheme:
    """Return what stands in the place of what is hidden; what follows a question stays or moves up as recorded."""
    heads = HEADS[objective]
    if SELECTION not in heads:
        return Replacement()
    learned = _recorded(record, "replacement", (QuestionTokens, Replacement))
    questions = learned if isinstance(learned, QuestionTokens) else QuestionTokens()
    return replace(questions, others=Replacement() if "mlm" in heads else None)


def masking_for(objective: Chosen, record: Mapping[str, Any], *, whole_words: bool) -> MaskingScheme:
    """Return how masks are drawn: as the folder's record says that the start has learned them, where that needs
    nothing but text, so that a new way of masking is not taken for a new domain. What the record lacks is the usual
    way. With `whole_words` words are hidden whole in any case, as a comparison of vocabularies needs it.
    """
    heads = HEADS[objective]
    usual: MaskingScheme = GeometricSpans()
    if "sbo" not in heads:
        usual = WholeWords() if whole_words else SubwordTokens()
    learned = None if whole_words else _recorded(record, "masking", MASKINGS)
    if learned is not None and _suits(learned, heads):
        return learned
    parts = [] if learned is None else [learned.first, learned.then] if isinstance(learned, TwoMaskings) else [learned]
    words = next((part for part in parts if _suits(part, ("mlm",))), usual)
    questions = next((part for part in parts if _suits(part, (SELECTION,))), RecurringGroups())
    if SELECTION not in heads:
        return words
    return TwoMaskings(first=questions, then=words) if "mlm" in heads else questions


def _suits(masking: MaskingScheme, heads: tuple[str, ...]) -> bool:
    """Return whether a masking gives just what these heads learn from: recurring groups, spans of no group, or both."""
    given = given_by(masking)
    return ("groups" in given) == (SELECTION in heads) and ("lone_spans" in given) == ("mlm" in heads)


def _recorded(record: Mapping[str, Any], field: str, kinds: tuple[type, ...]) -> Any:
    """Return a part of the recipe in a folder's record; None where it has none, or one that is not among `kinds`, or
    counts in other words than text shows."""
    recipe = record.get("recipe")
    if not isinstance(recipe, Mapping) or field not in recipe or recipe.get("word_unit", "word") != "word":
        return None
    try:
        return from_record(recipe[field], kinds)
    except ConfigError:
        return None
