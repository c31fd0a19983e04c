"""`spanwise learn-tokenizer`: text in, a vocabulary out."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.ranges import Characters, Count, CountOrNone, VocabularySize
from spanwise.cli.options.text import USUAL_TEXT, TextOptions, watched

if TYPE_CHECKING:
    from spanwise.text.tokenizers import Tokenizer


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VocabularyOptions:
    """The vocabulary that is wanted."""

    kind: str = "wordpiece"
    """How words are cut: wordpiece (BERT), byte-bpe (RoBERTa), bpe (GPT-1) or unigram (ALBERT)."""
    vocab_size: VocabularySize = 28_996
    """Pieces to learn at most, special tokens included (BERT cased has 28,996)."""
    unicode_form: Literal["NFC", "as_is"] | None = None
    """NFC: the tokenizer itself composes characters, so that Korean typed in parts gives the same ids. Default: where
    the language is ko or the text is Korean."""
    boundaries: Literal["words", "morphemes"] = "words"
    """morphemes: no piece of Korean WordPiece holds a stem and its particle together (learning needs kiwipiepy)."""
    alphabet_size: CountOrNone = None
    """Characters that have pieces of their own (not for byte-bpe, which reads bytes). Default: nearly all that occur,
    of Hangul all."""
    max_characters: Characters = None
    """Text to look at. Default: 500 million characters, with morphemes 20 million."""
    roles: tuple[str, ...] = ()
    """Special pieces that a recipe writes beside the usual ones: --roles question reserves [QUESTION]."""
    min_frequency: Count = 2
    """Pieces must be seen as often; unigram does not count so."""


USUAL = VocabularyOptions()


def learn_tokenizer(
    *text: Annotated[Path, Parameter(required=True)],
    out: Path,
    vocabulary: VocabularyOptions = USUAL,
    uncased: bool | None = None,
    reading: TextOptions = USUAL_TEXT,
    json: bool = False,
) -> None:
    """Learn a vocabulary from text; the result is the same on every run and machine.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst .bz2.
    out
        Folder of the new tokenizer; must not exist yet.
    uncased
        Lower-case all text; --uncased=false keeps case. Default: bpe and unigram lower-case, as their models do,
        wordpiece and byte-bpe keep case.
    json
        Print one JSON object.
    """
    from spanwise.runtime.progress import Gauge
    from spanwise.text.corpus import documents_of
    from spanwise.text.learn import learn_tokenizer as learn
    from spanwise.text.learn import unknown_share

    cased, corpus = None if uncased is None else not uncased, reading.corpus()
    with Gauge("reading", "MB") as gauge:
        documents = watched(documents_of(text, corpus), text, gauge)
        tokenizer = learn(documents, **asdict(vocabulary), cased=cased, options=corpus, out=out)
    with Gauge("counting [UNK]", "MB") as gauge:
        share = unknown_share(tokenizer, watched(documents_of(text, corpus), text, gauge))
    if json:
        record = {"out": str(out), "vocab_size": tokenizer.vocab_size, "sha256": tokenizer.sha256}
        print_json({**record, "unknown_share": share})
    else:
        _print(tokenizer, out, vocabulary, share)


def _print(tokenizer: "Tokenizer", out: Path, asked: VocabularyOptions, share: float) -> None:
    case = "cased" if tokenizer.is_cased else "uncased"
    say(f"Learned {tokenizer.vocab_size:,} {case} pieces: {out}")
    if tokenizer.vocab_size < asked.vocab_size:
        often = "" if asked.kind == "unigram" else f" that occur {asked.min_frequency} times"  # it counts no pieces
        say(f"The text has no more{often} ({asked.vocab_size:,} were asked for).")
    if tokenizer.unk_id >= 0:
        say(f"[UNK] is {share:.3%} of the tokens of the text it was learned from.")
