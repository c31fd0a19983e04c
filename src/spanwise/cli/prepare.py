"""`spanwise prepare`: text in, a token store out."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds
from spanwise.cli.options.ranges import ReadersOrNone
from spanwise.cli.options.text import USUAL_TEXT, TextOptions, watched
from spanwise.errors import ConfigError
from spanwise.runtime.wording import counted

if TYPE_CHECKING:
    from spanwise.data.prepare import PrepareReport
    from spanwise.text.corpus import CorpusOptions
    from spanwise.text.tags import Tagger


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TagOptions:
    """Options that say what is stored beside each token, and who finds it."""

    tag: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    """What to store beside each token, for recipes that ask for it: entities, noun-phrases, or morphemes (of Korean;
    needs pip install 'spanwise[ko]')."""
    tagger: str | None = None
    """The spaCy pipeline that finds the phrases, such as en_core_web_sm; needs pip install 'spanwise[spacy]'."""
    tag_labels: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    """Types of entities to keep, as the pipeline names them. Default: all but OntoNotes' numerical ones (CARDINAL,
    DATE, MONEY, ORDINAL, PERCENT, QUANTITY, TIME); what a pipeline calls otherwise is kept."""
    tags: Path | None = None
    """JSON lines of "text" (sentences or paragraphs) and "spans" to take the phrases from, instead of a pipeline."""

    def taggers(self, corpus: "CorpusOptions") -> list["Tagger"]:
        """Make the taggers that are asked for. Raises: ConfigError, DataError."""
        from spanwise.text.taggers import find_tagger

        if (self.tagger or self.tag_labels or self.tags) and not self.tag:
            raise ConfigError(
                "--tagger, --tag-labels and --tags say how to tag; say what: --tag entities, for example."
            )
        return [
            find_tagger(name, pipeline=self.tagger, spans=self.tags, labels=self.tag_labels, options=corpus)
            for name in self.tag or ()
        ]


NO_TAGS = TagOptions()


def prepare(
    *text: Annotated[Path, Parameter(required=True)],
    tokenizer: Path,
    out: Path,
    reading: TextOptions = USUAL_TEXT,
    add_tokens: Path | None = None,
    tagging: TagOptions = NO_TAGS,
    processes: ReadersOrNone = None,
    json: bool = False,
) -> None:
    """Turn text into a token store, in memory that does not grow with the corpus.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst .bz2. A blank line ends a document.
    tokenizer
        Folder or hub id of the tokenizer: tokenizer.json, or vocab.txt alone.
    out
        Folder of the new store; must not exist yet.
    add_tokens
        File of tokens, one per line, that the tokenizer grows by; for pretrain --init --add-tokens with the same file.
    processes
        Cores to encode on. Default: all.
    json
        Print one JSON object.
    """
    if processes is not None:
        os.environ["RAYON_NUM_THREADS"] = str(processes)  # read when the library starts its threads
    from spanwise.data.prepare import prepare as prepare_store
    from spanwise.interop.sources import find_tokenizer
    from spanwise.runtime.progress import Gauge
    from spanwise.text.corpus import documents_of
    from spanwise.text.extend import extend_tokenizer, read_tokens
    from spanwise.text.tokenizers import Tokenizer

    corpus = reading.corpus()
    taggers = tagging.taggers(corpus)
    words = Tokenizer.load(find_tokenizer(tokenizer))
    if add_tokens is not None:
        words = extend_tokenizer(words, read_tokens(add_tokens)).tokenizer
    with Gauge("encoding", "MB") as gauge:
        documents = watched(documents_of(text, corpus), text, gauge)
        report = prepare_store(documents, words, out, taggers=taggers, read_ahead=True)
    if json:
        print_json({"out": str(out), **asdict(report), "tokens_per_second": report.tokens_per_second})
    else:
        _print(report, out, taggers)


def _print(report: "PrepareReport", out: Path, taggers: list["Tagger"]) -> None:
    from spanwise.text.span_file_tagger import SpanFileTagger

    say(
        f"Stored {counted(report.num_tokens, 'token')} of {counted(report.num_sentences, 'sentence')} in "
        f"{counted(report.num_documents, 'document')}: {out}"
    )
    say(f"{format_seconds(report.seconds)}, {report.tokens_per_second:,.0f} tokens per second")
    for found in taggers:
        say(f"Tagged {found.name}: {found.source}; {counted(report.num_tagged[found.name], 'token')}")
        if isinstance(found, SpanFileTagger) and found.num_unmet:
            say(f"{found.num_unmet:,} records of {found.path} were not met: other borders, or another Unicode form?")
        if isinstance(found, SpanFileTagger) and found.num_crossing:
            say(f"{found.num_crossing:,} spans of {found.path} cross the border of two sentences; they are left out.")
    question = ": is this the right tokenizer for the text?" if report.unknown_share > 0.01 else "."
    say(f"[UNK] is {report.unknown_share:.3%} of the tokens{question}")
