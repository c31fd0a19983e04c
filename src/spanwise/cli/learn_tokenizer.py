"""`spanwise learn-tokenizer`: text in, a vocabulary out."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say


def learn_tokenizer(
    *text: Annotated[Path, Parameter(required=True)],
    out: Path,
    kind: str = "wordpiece",
    vocab_size: int = 28_996,
    uncased: bool = False,
    min_frequency: int = 2,
    lines: Literal["paragraphs", "sentences"] = "paragraphs",
    errors: Literal["strict", "replace"] = "strict",
    text_field: str = "text",
    json: bool = False,
) -> None:
    """Learn a vocabulary from text; the result is the same on every run and machine.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst.
    out
        Folder of the new tokenizer; must not exist yet.
    kind
        How words are cut: wordpiece.
    vocab_size
        Pieces to learn at most, special tokens included (BERT cased has 28,996).
    uncased
        Lower-case all text.
    min_frequency
        Pieces must be seen as often.
    lines
        What a line of text is.
    errors
        What to do at bytes that are not UTF-8: stop, or replace them and go on.
    text_field
        The field that holds the text, in JSON lines and parquet.
    json
        Print one JSON object.
    """
    from spanwise.text.corpus import CorpusOptions
    from spanwise.text.learn import learn_tokenizer as learn

    options = CorpusOptions(lines=lines, errors=errors, text_field=text_field)
    tokenizer = learn(
        list(text),
        vocab_size=vocab_size,
        kind=kind,
        cased=not uncased,
        min_frequency=min_frequency,
        options=options,
        out=out,
    )
    if json:
        print_json({"out": str(out), "vocab_size": tokenizer.vocab_size, "sha256": tokenizer.sha256})
        return
    case = "cased" if tokenizer.is_cased else "uncased"
    say(f"Learned {tokenizer.vocab_size:,} {case} pieces: {out}")
    if tokenizer.vocab_size < vocab_size:
        say(f"The text has no more that occur {min_frequency} times ({vocab_size:,} were asked for).")
