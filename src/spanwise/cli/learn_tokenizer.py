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
    uncased: bool | None = None,
    language: str = "en",
    unicode_form: Literal["NFC", "as_is"] | None = None,
    boundaries: Literal["words", "morphemes"] = "words",
    alphabet_size: int | None = None,
    max_characters: int | None = None,
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
        How words are cut: wordpiece (BERT), byte-bpe (RoBERTa), bpe (GPT-1) or unigram (ALBERT).
    vocab_size
        Pieces to learn at most, special tokens included (BERT cased has 28,996).
    uncased
        Lower-case all text. Default: bpe and unigram do, as their models.
    language
        Of the text, for splitting sentences: en, ko, ...
    unicode_form
        NFC: the tokenizer itself composes characters, so that Korean typed in parts gives the same ids. Default: where
        the language is ko or the text is Korean.
    boundaries
        morphemes: no piece of Korean WordPiece holds a stem and its particle together (learning needs kiwipiepy).
    alphabet_size
        Characters that have pieces of their own. Default: nearly all that occur, of Hangul all.
    max_characters
        Text to look at. Default: 500 million characters, with morphemes 20 million.
    min_frequency
        Pieces must be seen as often; unigram does not count so.
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
    from spanwise.text.learn import unknown_share

    options = CorpusOptions(lines=lines, errors=errors, text_field=text_field, language=language)
    tokenizer = learn(
        list(text),
        vocab_size=vocab_size,
        kind=kind,
        cased=None if uncased is None else not uncased,
        min_frequency=min_frequency,
        max_characters=max_characters,
        alphabet_size=alphabet_size,
        unicode_form=unicode_form,
        boundaries=boundaries,
        options=options,
        out=out,
    )
    share = unknown_share(tokenizer, list(text), options=options)
    if json:
        record = {"out": str(out), "vocab_size": tokenizer.vocab_size, "sha256": tokenizer.sha256}
        print_json({**record, "unknown_share": share})
        return
    case = "cased" if tokenizer.is_cased else "uncased"
    say(f"Learned {tokenizer.vocab_size:,} {case} pieces: {out}")
    if tokenizer.vocab_size < vocab_size:
        say(f"The text has no more that occur {min_frequency} times ({vocab_size:,} were asked for).")
    if tokenizer.unk_id >= 0:
        say(f"[UNK] is {share:.3%} of the tokens of the text it was learned from.")
