"""`spanwise show store`: what a token store holds, and what a format makes of it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_pairs, print_table, say, standard_output
from spanwise.cli.options.ranges import Epoch, Few, Seed
from spanwise.errors import ConfigError

SEGMENT_STYLES = ("cyan", "yellow")  # of A and B; further documents of a sequence take turns
SPECIAL_STYLE = "bold magenta"
EXAMPLES, SEED, EPOCH = 3, 0, 0


def show_store(
    store: Path,
    /,
    *,
    tokenizer: Path | None = None,
    format: str | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    examples: Few = EXAMPLES,
    seed: Seed = SEED,
    epoch: Epoch = EPOCH,
    json: bool = False,
) -> None:
    """Show what a token store holds; with --format, real sequences that training would read.

    Parameters
    ----------
    store
        Folder of the store.
    tokenizer
        Folder or hub id of the tokenizer; a store of other tools (Megatron-LM .bin and .idx) holds none.
    format
        An input format, such as single-segment, full-sentences, sentence-pair or ordered-pair: show its sequences.
    overrides
        Change a value of the format: max_length=64. May be repeated.
    examples
        How many sequences of the format.
    seed
        Of the format's draws and order.
    epoch
        The epoch whose sequences are shown; formats that draw make others in each.
    json
        Print one JSON object.
    """
    from spanwise.data.token_store import TokenStore
    from spanwise.interop.sources import find_tokenizer
    from spanwise.text.tokenizers import Tokenizer

    if format is None and (overrides or (examples, seed, epoch) != (EXAMPLES, SEED, EPOCH)):
        raise ConfigError("--set, --examples, --seed and --epoch are about sequences of a format: add --format NAME.")
    words = None if tokenizer is None else Tokenizer.load(find_tokenizer(tokenizer))
    opened = TokenStore.open(store, words)
    words = words or opened.tokenizer()
    if format is None:
        _show_counts(store, opened, words, json)
    else:
        _show_format(opened, words, format, overrides or [], examples, seed, epoch, json)


def _show_counts(store: Path, opened, words, json: bool) -> None:
    import numpy as np

    counts = opened.vocabulary.unigram_counts
    top = np.argsort(-counts, kind="stable")[:10]
    lengths = opened.sentence_lengths
    spread = {
        "mean": float(np.mean(lengths)) if len(lengths) else 0.0,
        "median": float(np.median(lengths)) if len(lengths) else 0.0,
        "longest": int(lengths.max(initial=0)),
    }
    vocabulary_used = float(np.count_nonzero(counts) / max(1, opened.vocabulary.size))
    unknown_id = opened.vocabulary.unk_id  # byte-level tokenizers have none
    unknown_share = 0.0 if unknown_id < 0 else float(counts[unknown_id] / max(1, opened.num_tokens))
    most_frequent = list(zip(words.tokens(top), counts[top].tolist(), strict=True))
    record = {
        "path": str(store),
        "num_documents": opened.num_documents,
        "num_sentences": opened.num_sentences,
        "num_tokens": opened.num_tokens,
        "tokens_per_sentence": spread,
        "vocab_size": opened.vocabulary.size,
        "vocabulary_used": vocabulary_used,
        "unknown_share": unknown_share,
        "tokenizer_sha256": opened.tokenizer_sha256,
        "sha256": opened.sha256,
        "side_arrays": opened.side_arrays,
        "most_frequent": [{"token": token, "count": count} for token, count in most_frequent],
    }
    if json:
        print_json(record)
        return
    print_pairs(
        [
            ("Documents", opened.num_documents),
            ("Sentences", opened.num_sentences),
            ("Tokens", opened.num_tokens),
            ("A sentence", f"{spread['mean']:.1f} tokens, median {spread['median']:g}, longest {spread['longest']:,}"),
            ("Vocabulary", f"{opened.vocabulary.size:,} pieces, {vocabulary_used:.1%} of them seen"),
            ("Unknown", f"{unknown_share:.3%} of all tokens"),
            *((f"Tags: {name}", source) for name, source in opened.side_arrays.items()),
            ("Content", f"{opened.sha256[:16]}, tokenizer {opened.tokenizer_sha256[:16]}"),
        ]
    )
    print_table(
        ["token", "count", "share"],
        [[token, count, f"{count / max(1, opened.num_tokens):.2%}"] for token, count in most_frequent],
    )


def _show_format(opened, words, name: str, overrides: list[str], count: int, seed: int, epoch: int, json: bool) -> None:
    from spanwise.config import override, to_record
    from spanwise.pretraining.formats.examples import find_format, format_examples

    part = override(find_format(name)(), overrides)
    found = format_examples(opened, part, words, count=count, seed=seed, epoch=epoch)
    if json:
        print_json({"format": to_record(part), "seed": seed, "epoch": epoch, **asdict(found)})
        return
    shares = [f"{label} {number / max(1, found.num_blocks):.1%}" for label, number in found.labels.items()]
    pairs: list[tuple[str, Any]] = [
        ("Format", f"{type(part).__name__}, epoch {epoch} of seed {seed}"),
        ("Sequences", f"{found.num_blocks:,}, mean {found.mean_tokens:.1f} tokens, longest {found.longest:,}"),
        ("Dropped", f"{found.num_tokens_dropped / max(1, opened.num_tokens):.2%} of the store's tokens"),
        ("Repeated", f"{found.num_tokens_repeated / max(1, opened.num_tokens):.2%}"),
    ]
    print_pairs([*pairs, *([("Labels", ", ".join(shares))] if shares else [])])
    for example in found.examples:
        label = "" if example.label is None else f", label {example.label}: {example.label_name}"
        say("")
        say(f"Block {example.block:,}, {len(example.tokens)} tokens{label}")
        standard_output().print(_coloured(example.stretches))


def _coloured(stretches):
    """Return the text of a sequence, A and B in colours of their own."""
    from rich.text import Text

    line = Text()
    for stretch in stretches:
        style = SPECIAL_STYLE if stretch.is_special else SEGMENT_STYLES[stretch.segment % len(SEGMENT_STYLES)]
        line.append((" " if line else "") + stretch.text, style=style)
    return line
