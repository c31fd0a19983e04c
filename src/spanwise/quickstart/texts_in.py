"""The text side of the quickstart: vocabulary, training store and held-out store, from the bundle or from files."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.data.held_out import FEW_DOCUMENTS, digest_of, parts_of
from spanwise.data.prepare import PrepareReport, prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.quickstart.bundle import BundledCorpus
from spanwise.text.corpus import CorpusOptions, Document, read_documents
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

HELD_OUT_ONE_IN = 20
CHARACTERS_A_SECOND = 60_000  # of budget: more text than can be read in the time is not prepared


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The vocabulary, the text that the model will read, and the text that it will be measured on."""

    tokenizer: Tokenizer
    train: TokenStore
    valid: TokenStore
    source: str  # "bundled" or "files"
    is_cut: bool  # the user's text was longer than the budget can read


class CorpusReader:
    """Gives the training or the held-out documents, again at every call, in bounded memory."""

    def __init__(
        self,
        texts: Sequence[str | Path],
        bundle: BundledCorpus,
        options: CorpusOptions,
        budget: float,
        one_in: int = HELD_OUT_ONE_IN,
    ) -> None:
        self.texts, self.bundle, self.options, self.one_in = list(texts), bundle, options, one_in
        self.max_characters = max(1_000_000, int(CHARACTERS_A_SECOND * budget))
        self.is_cut = False
        few = itertools.islice(read_documents(self.texts, self.options), FEW_DOCUMENTS) if texts else ()
        self.by_parts = bool(texts) and len(list(few)) < FEW_DOCUMENTS

    @property
    def source(self) -> str:
        """The kind of text: "files" or "bundled"."""
        return "files" if self.texts else "bundled"

    def documents(self, *, held_out: bool) -> Iterator[Document]:
        """Give the documents of the one part or the other."""
        if not self.texts:
            bundled = self.bundle.valid_text if held_out else self.bundle.train_text
            yield from read_documents(bundled, CorpusOptions(language=self.bundle.language))
            return
        documents = self._cut(read_documents(self.texts, self.options))
        for document in parts_of(documents) if self.by_parts else documents:
            if is_held_out(document, self.one_in) is held_out:
                yield document

    def _cut(self, documents: Iterable[Document]) -> Iterator[Document]:
        left = self.max_characters
        for document in documents:
            if left <= 0:
                self.is_cut = True
                return
            yield document
            left -= document.num_characters


def is_held_out(document: Document, one_in: int = HELD_OUT_ONE_IN) -> bool:
    """Return whether a document is held out, one in so many; its text decides, copies stay together."""
    return (digest_of(document) >> 32) % one_in == 0


def learn_vocabulary(reader: CorpusReader, out: Path, *, vocab_size: int, max_length: int) -> Tokenizer:
    """Learn a cased WordPiece vocabulary from the training documents. Raises: DataError."""
    return learn_tokenizer(
        reader.documents(held_out=False), vocab_size=vocab_size, max_length=max_length, out=out, options=reader.options
    )


def prepare_stores(reader: CorpusReader, tokenizer: Tokenizer, out: Path) -> tuple[Prepared, PrepareReport]:
    """Write both stores. Raises: DataError where there is too little text to hold some out."""
    report = prepare(reader.documents(held_out=False), tokenizer, out / "store")
    held_out = reader.documents(held_out=True)
    first = next(held_out, None)
    if first is None:
        raise DataError(
            f"The text is too short to keep a part for measuring ({report.num_characters:,} characters); give some "
            "hundred thousand characters, or leave TEXT out to use the bundled corpus."
        )
    prepare(itertools.chain([first], held_out), tokenizer, out / "valid-store")
    prepared = Prepared(
        tokenizer=tokenizer,
        train=TokenStore.open(out / "store", tokenizer),
        valid=TokenStore.open(out / "valid-store", tokenizer),
        source=reader.source,
        is_cut=reader.is_cut,
    )
    return prepared, report
