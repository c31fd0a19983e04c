"""The pre-training side of the quickstart: recipe, run, and the columns that are measured."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.comparison import Comparison, baseline_scores, compare
from spanwise.pretraining.mask_record import mask_record
from spanwise.pretraining.measure import Filling, TokenScores, facts_of, fill_sequence, score_hidden
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import build_model, continue_model, shaped_like, training_source, validation_source
from spanwise.quickstart.record import FilledPlace, FilledRecord
from spanwise.quickstart.texts_in import Prepared
from spanwise.recipes import spanbert_quickstart, spanbert_quickstart_ko
from spanwise.reporting.spans import Piece, join_pieces, make_pieces
from spanwise.weights.learned_from import LEARNED_FROM

PARAGRAPH_TOKENS = (60, 110)  # of the paragraph that is shown
SENTENCE_TOKENS = (14, 40)  # of the one that is filled
SENTENCE_GAPS = (3, 6)
Guesses = list[list[tuple[int, float]]]  # of each place: ids with their chances


def quickstart_recipe(checkpoint: Checkpoint | None, language: str = "en") -> PretrainingRecipe:
    """Return the recipe `spanbert-quickstart`, or its Korean twin, in the shape of a checkpoint where one is given."""
    recipe = spanbert_quickstart_ko() if language == "ko" else spanbert_quickstart()
    if checkpoint is None:
        return recipe
    recipe = shaped_like(recipe, checkpoint.config)
    length = min(recipe.format.max_length, checkpoint.config.max_positions)
    return replace(
        recipe,
        format=replace(recipe.format, max_length=length),
        # Weights that are trained already are moved gently, heads that may be fresh are not: at one rate for both,
        # learning the heads overwrote the encoder (docs/log.md).
        training=replace(recipe.training, optimizer="adamw", learning_rate=3e-5, head_learning_rate=1e-3),
    )


def masked_paragraph(recipe: PretrainingRecipe, prepared: Prepared) -> list[Piece]:
    """Return the first training sequence of a readable length, masked as training masks it."""
    source = training_source(recipe, prepared.train)
    for step in range(30):
        for one in source.masked_step(step):
            for sequence in of_length(one, PARAGRAPH_TOKENS):
                pieces = pieces_of(one, sequence, prepared)
                if not pieces[0].text[0].islower() and pieces[-1].text == ".":  # whole sentences
                    return pieces
    return pieces_of(source.masked_step(0)[0], 0, prepared)


def of_length(one: Masked, tokens: tuple[int, int], gaps: tuple[int, int] = (1, 1000)) -> list[int]:
    """Return the sequences of a pack with so many tokens and so many hidden ones."""
    lengths = np.diff(one.pack.borders)
    hidden = np.bincount(one.spans.sequence[one.hidden.span], minlength=len(lengths))
    fits = (lengths >= tokens[0]) & (lengths <= tokens[1]) & (hidden >= gaps[0]) & (hidden <= gaps[1])
    return np.flatnonzero(fits).tolist()


def pieces_of(one: Masked, sequence: int, prepared: Prepared) -> list[Piece]:
    """Return one sequence of a pack as pieces of text, without its special tokens."""
    first, last = int(one.pack.borders[sequence]), int(one.pack.borders[sequence + 1])
    here = np.flatnonzero(one.pack.maskable[first:last]) + first
    begin = int(here[0])
    inside = one.spans.sequence == sequence
    spans = [
        (int(s) - begin, int(e) - begin) for s, e in zip(one.spans.start[inside], one.spans.end[inside], strict=True)
    ]
    tokenizer = prepared.tokenizer
    return make_pieces(
        tokenizer.readable(one.pack.input_ids[here].tolist()),
        spans,
        tokenizer.readable(one.input_ids[here].tolist()),
        mask_token=tokenizer.tokens([tokenizer.mask_id])[0],
    )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The models that stand side by side. Heads that a given checkpoint did not bring are not measured."""

    control: PretrainingModel
    trained: PretrainingModel
    init: PretrainingModel | None = None
    init_heads: tuple[str, ...] = ()


def make_columns(recipe: PretrainingRecipe, prepared: Prepared, final: Path, init: Checkpoint | None) -> Columns:
    """Return random weights of the same shape, the trained model, and the checkpoint as it came."""
    control = build_model(recipe, prepared.train.vocabulary.size)
    trained, _ = continue_model(recipe, read_folder(final))
    if init is None:
        return Columns(control=control, trained=trained)
    model, fresh = continue_model(recipe, init)
    return Columns(
        control=control, trained=trained, init=model, init_heads=tuple(n for n in model.heads if n not in fresh)
    )


def save_control(columns: Columns, prepared: Prepared, folder: Path) -> None:
    """Write the random weights that training began with, without what it counted in the text, for the control."""
    write_folder(folder, FolderContent(columns.control.encoder, {}, prepared.tokenizer, extra={LEARNED_FROM: []}))


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The scores of all columns on the held-out text."""

    comparison: Comparison
    num_hidden: int
    lengths: list[int]  # tokens of the first sequences
    spans: list[tuple[int, int, int]]  # their hidden stretches
    packs: list[Masked]  # that were measured
    correct: dict[str, np.ndarray]  # column -> [N] whether MLM, or counting, guessed each hidden token


def measure_columns(columns: Columns, recipe: PretrainingRecipe, prepared: Prepared, seconds: float) -> Measured:
    """Score every column on the same hidden tokens of held-out text, as many packs as the time allows."""
    began = time.perf_counter()
    packs = list(validation_source(recipe, prepared.valid).epoch_masked())
    models = {"control": columns.control, "trained": columns.trained}
    if columns.init is not None and columns.init_heads:
        models["init"] = columns.init
    score_hidden(columns.trained, packs[:1])  # the first call warms up
    timed = time.perf_counter()
    score_hidden(columns.trained, packs[:1])
    per_pack = (time.perf_counter() - timed) * len(models) + 1e-6
    allowed = int((seconds - (time.perf_counter() - began)) * 0.7 / per_pack)
    packs = packs[: max(2, allowed)]
    scores: dict[str, dict[str, TokenScores]] = {name: score_hidden(model, packs) for name, model in models.items()}
    if "init" in scores:
        scores["init"] = {name: value for name, value in scores["init"].items() if name in columns.init_heads}
    facts = facts_of(packs)
    baselines = baseline_scores(NeighbourBaseline.from_store(prepared.train), facts)
    masks = mask_record(packs)
    return Measured(
        comparison=compare(facts, baselines, scores),
        num_hidden=len(facts.original_ids),
        lengths=masks["lengths"],
        spans=masks["spans"],
        packs=packs,
        correct={
            **{name: found.correct for name, found in baselines.items()},
            **{name: found["mlm"].correct for name, found in scores.items() if "mlm" in found},
        },
    )


def filled_sentence(columns: Columns, packs: list[Masked], prepared: Prepared) -> FilledRecord:
    """Fill the first short held-out sequence with a few gaps, by each way of guessing."""
    one, chosen = next(short_sequences(packs), (packs[0], 0))
    trained, control = fill_sequence(columns.trained, one, chosen), fill_sequence(columns.control, one, chosen)
    ways = {**trained.guesses, **({"control": control.guesses["mlm"]} if "mlm" in control.guesses else {})}
    return filled_record(one, chosen, trained, ways, prepared)


def short_sequences(packs: list[Masked]) -> Iterator[tuple[Masked, int]]:
    """Give the sequences with a few gaps that a person reads at a glance, each with its pack."""
    return ((one, chosen) for one in packs for chosen in of_length(one, SENTENCE_TOKENS, SENTENCE_GAPS))


def filled_record(
    one: Masked, chosen: int, filling: Filling, ways: Mapping[str, Guesses], prepared: Prepared
) -> FilledRecord:
    """Return one sequence with its gaps and what each way puts there."""
    tokens = prepared.tokenizer.tokens

    def named(guesses: list[tuple[int, float]]) -> list[tuple[str, float]]:
        names = tokens([index for index, _ in guesses])
        return [(name, round(chance, 4)) for name, (_, chance) in zip(names, guesses, strict=True)]

    places = [
        FilledPlace(truth=truth, guesses={way: named(found[index]) for way, found in ways.items()})
        for index, truth in enumerate(tokens(filling.original_ids.tolist()))
    ]
    return FilledRecord(runs=join_pieces(pieces_of(one, chosen, prepared)), places=places)
