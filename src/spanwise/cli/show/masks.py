"""`spanwise show masks`: what a recipe hides in a text, or what a model makes of hidden words."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_table, say, standard_output
from spanwise.cli.options.ranges import Few, Seed
from spanwise.errors import ConfigError

if TYPE_CHECKING:
    from spanwise.data.vocabulary import Vocabulary
    from spanwise.pretraining.masking.base import MaskingScheme
    from spanwise.pretraining.packs import Pack
    from spanwise.pretraining.recipe import PretrainingRecipe
    from spanwise.reporting.spans import Piece
    from spanwise.text.tokenizers import Tokenizer


TIMES, SEED = 3, 0


def show_masks(
    recipe: str = "spanbert-base",
    *,
    text: str,
    span: Annotated[list[str] | None, Parameter(name="--span")] = None,
    model: str | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    tokenizer: Path | None = None,
    times: Few = TIMES,
    seed: Seed = SEED,
    json: bool = False,
) -> None:
    """Draw a recipe's masks on a text; with --model and --span, what the model makes of the hidden words.

    For each hidden token: its two boundary tokens, its row of the position table, -log P by the context (MLM), by the
    boundary (SBO) and their sum, in nats. It is the figure of the SpanBERT paper, on any sentence.

    Parameters
    ----------
    recipe
        The recipe whose masks are drawn, where no --span is given.
    text
        One sentence or paragraph.
    span
        Words to hide, FIRST:END, the end not included; [CLS] is number 0 and the first word 1. May be repeated.
    model
        Checkpoint folder or hub id; with --span its losses are shown.
    overrides
        Change a value of the recipe first: path=value. May be repeated.
    tokenizer
        Folder or hub id of a tokenizer, or of a store, whose counts then say which words are stop words. Default:
        the model's; without a model every word is one token.
    times
        How many drawings.
    seed
        Of the drawings.
    json
        Print one JSON object.
    """
    if span and model is None:
        raise ConfigError("--span shows what a model makes of hidden words: add --model CHECKPOINT.")
    if span and (overrides or (times, seed) != (TIMES, SEED)):
        raise ConfigError("--span draws no masks, so --set, --times and --seed do nothing; leave them or --span out.")
    if span:
        _explain(text, [_read_span(words) for words in span], str(model), tokenizer, json)
    else:
        _draw(text, model, recipe, overrides or [], tokenizer, times, seed, json)


def _read_span(words: str) -> tuple[int, int]:
    first, colon, end = words.partition(":")
    if not (colon and first.strip().isdigit() and end.strip().isdigit()):
        raise ConfigError(f"--span {words!r} is no range of words. Write FIRST:END, for example 5:9 for words 5 to 8.")
    return int(first), int(end)


def _explain(text: str, words: list[tuple[int, int]], model: str, tokenizer: Path | None, json: bool) -> None:
    from spanwise.errors import CheckpointError
    from spanwise.interop.checkpoint import build_encoder, build_head, check_vocabulary, read_tokenizer, warn_of_misfits
    from spanwise.interop.huggingface import read_folder
    from spanwise.pretraining.explain import explain_spans, read_single_text, spans_of_words

    checkpoint = read_folder(model)
    warn_of_misfits(checkpoint)
    tokens = read_tokenizer(checkpoint, tokenizer)
    if tokens is None:
        raise CheckpointError(f"{model} holds no tokenizer.json or vocab.txt; copy the model's own there.")
    check_vocabulary(checkpoint, tokens)
    encoder = build_encoder(checkpoint)
    masked_lm, boundary = build_head(checkpoint, "mlm", encoder), build_head(checkpoint, "sbo", encoder)
    if masked_lm is None:
        raise CheckpointError(f"{model} holds no masked-LM head; choose a pre-trained checkpoint that kept its heads.")
    read = read_single_text(text, tokens, encoder.config.max_positions)
    trained = checkpoint.record.get("recipe", {}).get("objectives", {}).get("sbo", {})
    beyond = trained.get("beyond", "skip")  # a folder of others: the released code skips deep tokens
    spans = spans_of_words(read, words)
    found = explain_spans(encoder, masked_lm, boundary, tokens, read, spans, beyond=beyond)
    if json:
        print_json({"model": model, "text": text, "spans": words, "tokens": [asdict(token) for token in found]})
        return
    columns = ["token", "left", "right", "row", "MLM", "SBO", "sum", "MLM guess", "SBO guess"]
    rows = [
        [t.token, t.left, t.right, t.position_row, *nats, t.mlm_guess, t.sbo_guess]
        for t in found
        for nats in [[None if value is None else f"{value:.3f}" for value in (t.mlm, t.sbo, t.total)]]
    ]
    print_table(columns, rows)
    say("MLM, SBO, sum: -log P of the token in nats, by its context, by the two boundary tokens and its row, and both.")
    if boundary is None:
        say("This model has no span boundary head: it was not pre-trained with one.")


def _draw(
    text: str,
    model: str | None,
    recipe_name: str,
    overrides: list[str],
    tokenizer: Path | None,
    times: int,
    seed: int,
    json: bool,
) -> None:
    from spanwise.config import override
    from spanwise.interop.sources import find_folder
    from spanwise.pretraining.explain import read_single_text
    from spanwise.pretraining.masking.base import bound
    from spanwise.pretraining.system import pack_parts
    from spanwise.recipes import find

    recipe = override(find(recipe_name), overrides)
    folder = tokenizer or (find_folder(model) if model else None)
    tokens, counted, vocabulary = _words_of(text, folder, pack_parts(recipe).roles)
    masking = bound(recipe.masking, counted)
    pack = read_single_text(text, tokens, recipe.format.max_length).pack
    drawings = []
    for epoch in range(times):
        drawing, pieces = _drawing(recipe, masking, pack, tokens, vocabulary, seed, epoch)
        drawings.append(drawing)
        if not json:
            _print_drawing(pieces)
    if json:
        print_json({"recipe": recipe.name, "text": text, "drawings": drawings})
    elif recipe.masking.ratio == 0:
        say(f"{recipe.name} hides no tokens; it learns from all of them ({', '.join(recipe.objectives)}).")
    else:
        _say_what_is_shown(recipe.name, drawings[0])


def _words_of(text: str, folder: Path | None, roles: Sequence[str]) -> tuple[Tokenizer, Vocabulary, Vocabulary]:
    """Return the tokenizer to draw with, its counts (of a store, else all zero), and counts to draw random tokens by.

    Without a folder every word of the text is a token.
    """
    import numpy as np

    from spanwise.data.token_store import TokenStore, vocabulary_of
    from spanwise.interop.sources import find_tokenizer
    from spanwise.pretraining.explain import words_as_tokens
    from spanwise.text.extend import with_roles
    from spanwise.text.tokenizers import Tokenizer

    if folder is not None and (folder / "store.json").is_file():
        tokens = with_roles(TokenStore.open(folder).tokenizer(), roles)
        vocabulary = TokenStore.open(folder, tokens).vocabulary
        return tokens, vocabulary, vocabulary
    tokens = with_roles(Tokenizer.load(find_tokenizer(folder)) if folder else words_as_tokens(text), roles)
    counts = np.ones(tokens.vocab_size, dtype=np.int64)
    return tokens, vocabulary_of(tokens, 0 * counts), vocabulary_of(tokens, counts)


def _drawing(
    recipe: PretrainingRecipe,
    masking: MaskingScheme,
    pack: Pack,
    tokens: Tokenizer,
    vocabulary: Vocabulary,
    seed: int,
    epoch: int,
) -> tuple[dict[str, Any], list[Piece]]:
    """Return one drawing as JSON shows it and as a terminal does."""
    from spanwise.pretraining.masking.checked import selected
    from spanwise.pretraining.masking.questions import shortened_ranges
    from spanwise.reporting.spans import make_pieces
    from spanwise.runtime.seed import keys_for

    spans = selected(masking, pack, keys_for(seed, "masking", epoch, pack.block_ids))
    replaced = recipe.replacement.apply(pack, spans, keys_for(seed, "replacement", epoch, pack.block_ids), vocabulary)
    ranges = list(zip(spans.start.tolist(), spans.end.tolist(), strict=True))
    seen, readable = tokens.tokens(replaced), tokens.readable(replaced)
    for start, end in shortened_ranges(recipe.replacement, spans):
        seen[start + 1 : end] = readable[start + 1 : end] = [""] * (end - start - 1)  # in no pack
    groups = [] if spans.group is None else spans.group.tolist()
    answers = [] if spans.kept is None else [(first, last) for first, last in spans.kept.tolist()]
    drawing = {"spans": ranges, **({"groups": groups, "answers": answers} if groups else {})}
    pieces = make_pieces(
        tokens.readable(pack.input_ids)[1:-1],
        [(start - 1, end - 1) for start, end in ranges],
        readable[1:-1],
        mask_token=tokens.specials.get("mask", ""),
        question_token=tokens.specials.get("question", ""),
        groups=groups,
        answers=[(first - 1, last - 1) for first, last in answers],
    )
    return {**drawing, "tokens": tokens.tokens(pack.input_ids), "seen": seen}, pieces


def _say_what_is_shown(name: str, first: dict[str, Any]) -> None:
    num_hidden = sum(end - start for start, end in first["spans"])
    say(f"{name}: {num_hidden} of {len(first['tokens']) - 2} tokens are hidden in the first drawing.")
    num_grouped = sum(group >= 0 for group in first.get("groups", []))
    if num_grouped:
        say(
            f"{num_grouped} of its spans stand elsewhere in the text too, where the answer has the same "
            + ("colour, underlined." if sys.stdout.isatty() else "number: [[hidden #1]], {{answer #1}}.")
        )


def _print_drawing(pieces: Sequence[Piece]) -> None:
    """Print a drawing in colour on a terminal, elsewhere with double brackets around hidden words and double braces
    around answers."""
    from spanwise.reporting.spans import join_pieces, terminal_text

    if sys.stdout.isatty():
        standard_output().print(terminal_text(pieces))
        return
    line = ""
    for run in join_pieces(pieces):
        number = "" if run.group is None else f" #{run.group + 1}"
        hidden = f"[[{run.text}{f' -> {run.seen}' if run.seen else ''}{number}]]"
        words = {"visible": run.text, "answer": f"{{{{{run.text}{number}}}}}"}.get(run.shown, hidden)
        line += (" " if run.space else "") + words
    say(line)
