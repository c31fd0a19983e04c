"""`spanwise prepare`: text in, a token store out."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds
from spanwise.errors import ConfigError


def prepare(
    *text: Annotated[Path, Parameter(required=True)],
    tokenizer: Path,
    out: Path,
    lines: Literal["paragraphs", "sentences"] = "paragraphs",
    errors: Literal["strict", "replace"] = "strict",
    text_field: str = "text",
    language: str = "en",
    add_tokens: Path | None = None,
    tag: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    tagger: str | None = None,
    tag_labels: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    tags: Path | None = None,
    processes: int | None = None,
    json: bool = False,
) -> None:
    """Turn text into a token store, in memory that does not grow with the corpus.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst. A blank line ends a document.
    tokenizer
        Folder of the tokenizer: tokenizer.json, or vocab.txt alone.
    out
        Folder of the new store; must not exist yet.
    lines
        What a line of text is; paragraphs are split into sentences.
    errors
        What to do at bytes that are not UTF-8: stop, or replace them and go on.
    text_field
        The field that holds the text, in JSON lines and parquet.
    language
        Of the text, for splitting sentences: en, ko, ...
    add_tokens
        File of tokens, one a line, that the tokenizer grows by; for pretrain --init --add-tokens with the same file.
    tag
        What to store beside each token, for recipes that ask for it: entities, noun-phrases, or morphemes (of Korean;
        needs pip install 'spanwise[ko]').
    tagger
        The spaCy pipeline that finds the phrases, such as en_core_web_sm; needs pip install 'spanwise[spacy]'.
    tag_labels
        Types of entities to keep. Default: all but numerical ones (dates, amounts, ordinals, ...).
    tags
        JSON lines of "text" (sentences or paragraphs) and "spans" to take the phrases from, instead of a pipeline.
    processes
        Cores to encode on. Default: all.
    json
        Print one JSON object.
    """
    if processes is not None:
        os.environ["RAYON_NUM_THREADS"] = str(max(1, processes))  # read when the library starts its threads
    from spanwise.data.prepare import prepare as prepare_store
    from spanwise.text.corpus import CorpusOptions
    from spanwise.text.extend import extend_tokenizer, read_tokens
    from spanwise.text.span_file_tagger import SpanFileTagger
    from spanwise.text.taggers import find_tagger
    from spanwise.text.tokenizers import Tokenizer

    options = CorpusOptions(lines=lines, errors=errors, text_field=text_field, language=language)
    if (tagger or tag_labels or tags) and not tag:
        raise ConfigError("--tagger, --tag-labels and --tags say how to tag; say what: --tag entities, for example.")
    taggers = [find_tagger(name, pipeline=tagger, spans=tags, labels=tag_labels, options=options) for name in tag or ()]
    words = Tokenizer.load(tokenizer)
    if add_tokens is not None:
        words = extend_tokenizer(words, read_tokens(add_tokens)).tokenizer
    report = prepare_store(list(text), words, out, options, taggers=taggers)
    if json:
        print_json({"out": str(out), **asdict(report), "tokens_per_second": report.tokens_per_second})
        return
    say(
        f"Stored {report.num_tokens:,} tokens of {report.num_sentences:,} sentences in {report.num_documents:,} "
        f"documents: {out}"
    )
    say(f"{format_seconds(report.seconds)}, {report.tokens_per_second:,.0f} tokens a second")
    for found in taggers:
        say(f"Tagged {found.name}: {found.source}")
        if isinstance(found, SpanFileTagger) and found.num_unmet:
            say(f"{found.num_unmet:,} records of {tags} were not met: other borders, or another Unicode form?")
        if isinstance(found, SpanFileTagger) and found.num_crossing:
            say(f"{found.num_crossing:,} spans of {tags} cross the border of two sentences; they are left out.")
    question = ": is this the right tokenizer for the text?" if report.unknown_share > 0.01 else "."
    say(f"[UNK] is {report.unknown_share:.3%} of the tokens{question}")
