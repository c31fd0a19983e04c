"""From text files to a token store: read and split ahead, encode on all cores, write; in memory that does not grow.

Each word is encoded once and remembered (`CachedEncoder`); new words go to the `tokenizers` library's own thread pool
(its size is RAYON_NUM_THREADS, by default all cores). No process is started, so nothing can be orphaned.

Where a tokenizer writes a word otherwise at the beginning of a text (RoBERTa's), a sentence that follows another in its
document is given with the blank before it, as it stood in the text. With taggers each sentence is also read by them,
and what they say of each token is stored beside it; this is as slow as the taggers are.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.data.cached_encoder import CachedEncoder
from spanwise.data.prefetch import Prefetcher
from spanwise.data.store_writer import SHARD_BYTES, TokenStoreWriter
from spanwise.errors import ConfigError
from spanwise.text.corpus import CorpusOptions, Document, Source, documents_of, opened_sentences
from spanwise.text.tags import Tagger
from spanwise.text.tokenizers import Tokenizer

BATCH_CHARACTERS = 1 << 20  # text held at once

Encoded = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]  # ids [n], lengths [k], side arrays [n]
Encode = Callable[[list[str]], Encoded]


@dataclass(frozen=True, kw_only=True)
class PrepareReport:
    """The counts of what went into a store."""

    num_documents: int
    num_sentences: int
    num_tokens: int
    num_characters: int
    num_bytes: int  # of ids on disk
    unknown_share: float  # [UNK] among all tokens, 0 to 1
    num_tagged: dict[str, int]  # by the tagger's name: tokens with a tag that is not 0
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.num_tokens / max(self.seconds, 1e-9)


def prepare(
    source: Source,
    tokenizer: Tokenizer,
    out: str | Path,
    options: CorpusOptions | None = None,
    *,
    taggers: Sequence[Tagger] = (),
    shard_bytes: int = SHARD_BYTES,
    read_ahead: bool | None = None,
) -> PrepareReport:
    """Encode files, folders and globs, or documents of sentences, into a new store folder `out`.

    Each token of the text is in exactly one sentence. `taggers` fill the store's side arrays, one each. `read_ahead`
    reads and splits the next text in a thread of its own; None: all but iterators, which may belong to the caller's
    thread. Nothing is left of `out` where this fails.
    Raises: DataError for text that is missing, damaged or empty; ConfigError where `out` exists.
    """
    begin = time.perf_counter()
    documents = documents_of(source, options)  # a wrong name is told before anything is made
    num_characters = 0
    side_arrays = {tagger.name: tagger.source for tagger in taggers}
    if len(side_arrays) < len(taggers):
        raise ConfigError(f"two taggers fill one side array: {', '.join(tagger.name for tagger in taggers)}.")
    with TokenStoreWriter(out, tokenizer, shard_bytes=shard_bytes, side_arrays=side_arrays) as writer:
        encode = _tagged(tokenizer, taggers) if taggers else _plain(tokenizer)
        batches = _batches(documents)
        num_tagged = Counter({tagger.name: 0 for tagger in taggers})
        # Words are looked up without the interpreter lock, so that the next text is read and split meanwhile.
        if read_ahead is None:
            read_ahead = isinstance(source, str | Path | Sequence)
        with Prefetcher(lambda _: next(batches, None), depth=int(read_ahead)) as ahead:
            for number in itertools.count():
                held = ahead.get(number)
                if held is None:
                    break
                num_tagged.update(_write(held, encode, writer, blanks=tokenizer.needs_blank))
                num_characters += sum(document.num_characters for document in held)
    return PrepareReport(
        num_documents=writer.num_documents,
        num_sentences=writer.num_sentences,
        num_tokens=writer.num_tokens,
        num_characters=num_characters,
        num_bytes=writer.num_bytes,
        unknown_share=writer.num_unknown / max(writer.num_tokens, 1),
        num_tagged=dict(num_tagged),
        seconds=time.perf_counter() - begin,
    )


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents with BATCH_CHARACTERS or some more."""
    held: list[Document] = []
    size = 0
    for document in documents:
        held.append(document)
        size += document.num_characters
        if size >= BATCH_CHARACTERS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _plain(tokenizer: Tokenizer) -> Encode:
    encoder = CachedEncoder(tokenizer)

    def encode(texts: list[str]) -> Encoded:
        return *encoder.encode_flat(texts), {}

    return encode


def _tagged(tokenizer: Tokenizer, taggers: Sequence[Tagger]) -> Encode:
    def encode(texts: list[str]) -> Encoded:
        encodings = tokenizer.encode_batch(texts)
        lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
        ids = np.concatenate([np.empty(0, dtype=np.int32), *(encoding.ids for encoding in encodings)])
        nothing = np.empty(0, dtype=np.uint8)
        side = {tagger.name: np.concatenate([nothing, *tagger.tag(texts, encodings)]) for tagger in taggers}
        return ids, lengths, side

    return encode


def _write(documents: list[Document], encode: Encode, writer: TokenStoreWriter, *, blanks: bool) -> dict[str, int]:
    """Encode and write; with `blanks`, sentences that do not open their document have a blank before them.

    Returns how many tokens of each side array have a tag.
    """
    sentences = opened_sentences(documents, opens=not writer.inside_document)
    ids, lengths, side = encode([f" {sentence}" if blanks and not opens else sentence for opens, sentence in sentences])
    counts = np.cumsum([len(document.sentences) for document in documents], dtype=np.int64)
    ends = counts[[place for place, document in enumerate(documents) if document.ends]]
    writer.add_sentences(ids, lengths, side, ends=ends)
    return {name: int(np.count_nonzero(tags)) for name, tags in side.items()}
