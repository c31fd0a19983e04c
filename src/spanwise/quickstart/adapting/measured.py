"""What an adaptation changed on text that it never saw: start, adapted model and random weights side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spanwise.adapt.objectives import tokenizer_for
from spanwise.adapt.options import Length
from spanwise.adapt.recipe import adaptation_recipe
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.comparison import Measure, compare_columns
from spanwise.pretraining.measure import fill_sequence
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import build_model, continue_model, validation_source
from spanwise.quickstart import learning
from spanwise.quickstart.adapting.texts import AdaptedText
from spanwise.quickstart.record import FilledRecord
from spanwise.quickstart.texts_in import Prepared
from spanwise.text.corpus import read_documents

SHOWN = 3  # sentences with gaps
LONGEST_SHOWN = 40  # tokens


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """How held-out text is measured: spans of whole words, however the start has learned."""

    recipe: PretrainingRecipe
    prepared: Prepared  # `train` is what the counting baselines learn from


def make_ruler(start: Checkpoint, text: AdaptedText, learned: Path, folder: Path) -> Ruler:
    """Write the store of what is kept out; `learned` is the store that the adaptation learned from.

    Raises: CheckpointError for a start that guesses no hidden words.
    """
    if not {"mlm", "sbo"} <= start.heads.keys():
        raise CheckpointError(f"{start.folder} has no heads for masked tokens and the span boundary to measure.")
    recipe = adaptation_recipe(start, "spans", seed=0, length=Length(steps=1))
    tokenizer = tokenizer_for("spans", start)
    if not folder.exists():
        prepare(read_documents(text.kept_out, text.options), tokenizer, folder)
    prepared = Prepared(
        tokenizer=tokenizer,
        train=TokenStore.open(learned, tokenizer),
        valid=TokenStore.open(folder, tokenizer),
        source=text.record.source,
        is_cut=text.record.is_cut,
    )
    return Ruler(recipe=recipe, prepared=prepared)


def three_columns(ruler: Ruler, start: Checkpoint, adapted: Path) -> learning.Columns:
    """Return random weights, the start and the adapted model, in one shape."""
    before, _ = continue_model(ruler.recipe, start)
    after, _ = continue_model(ruler.recipe, read_folder(adapted))
    control = build_model(ruler.recipe, start.config.vocab_size)
    return learning.Columns(control=control, trained=after, init=before, init_heads=tuple(before.heads))


def whole_spans(measured: learning.Measured) -> Measure:
    """Return how many hidden spans each column guessed as a whole, every token of them, in per cent."""
    last, span_of_token, sequence_of_span = 0, [], []
    for one, sequences in zip(measured.packs, sequence_numbers(measured.packs), strict=True):
        span_of_token.append(one.hidden.span + last)
        sequence_of_span.append(sequences)
        last += len(sequences)
    spans_N, clusters_M = np.concatenate(span_of_token), np.concatenate(sequence_of_span)
    columns = {}
    for name, correct_N in measured.correct.items():
        columns[name] = np.full(last, 100.0)
        columns[name][spans_N[~correct_N]] = 0.0
    return compare_columns("mlm_spans", columns, clusters_M, np.ones(last, dtype=bool), "higher")


def sequence_numbers(packs: Sequence[Masked]) -> Iterator[np.ndarray]:
    """Give the sequence of every span of each pack, numbered through all packs."""
    first = 0
    for one in packs:
        yield one.spans.sequence + first
        first += len(one.pack.borders) - 1


def filled_before_and_after(columns: learning.Columns, ruler: Ruler) -> list[FilledRecord]:
    """Fill the first short held-out sequences by the start, the adapted model and random weights; nothing is chosen."""
    assert columns.init is not None  # `three_columns` gives all three
    models = {"before": columns.init, "after": columns.trained, "control": columns.control}
    recipe = replace(ruler.recipe, format=replace(ruler.recipe.format, max_length=LONGEST_SHOWN))
    packs = list(validation_source(recipe, ruler.prepared.valid).epoch_masked())
    shown = []
    for (one, chosen), _ in zip(learning.short_sequences(packs), range(SHOWN), strict=False):
        found = {name: fill_sequence(model, one, chosen) for name, model in models.items()}
        ways = {name: filling.guesses["mlm"] for name, filling in found.items()}
        shown.append(learning.filled_record(one, chosen, found["after"], ways, ruler.prepared))
    return shown
