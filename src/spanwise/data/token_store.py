"""A corpus as token ids on disk, read through memory maps: open in a moment, any range at once, damage named.

A store is a folder of shards in the Megatron-LM format (one sequence per sentence), `store.json`, the tokenizer that
made it, and a manifest. Side arrays (`00000.NAME.u8`) hold one byte per token beside the ids: where morphemes begin,
what phrase a token belongs to. Each byte is covered by a checksum: small stores are checked when opened, large ones
chunk by chunk on first touch. Memory grows with the corpus by 4 bytes per sentence and 8 per document, and by another
8 per sentence once `sentence_offsets` are asked for.

Letters: n sentences, d documents, k ranges, V vocabulary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from spanwise.data.gather import bounds_error, copy_ranges, gather_ranges
from spanwise.data.megatron import parse_index
from spanwise.data.shards import CHUNK_BYTES, MappedFile, Shard, read_file
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import DataError
from spanwise.runtime.files import MANIFEST_NAME, JsonObject, read_manifest, verify_folder
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.remote.mirror import local_copy
from spanwise.runtime.remote.paths import RemotePath, path_of
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer

STORE_FORMAT = "spanwise token store"
STORE_VERSION = 1
STORE_NAME = "store.json"
TOKENIZER_FOLDER = "tokenizer"
CHECKED_WHEN_OPENED_BYTES = 1 << 28  # larger stores are checked on first touch instead


def side_name(shard: str, side: str) -> str:
    """The file of a side array of one shard."""
    return f"{shard}.{side}.u8"


def vocabulary_of(tokenizer: Tokenizer, unigram_counts: np.ndarray) -> Vocabulary:
    """The tables that array code needs of a tokenizer. `unigram_counts` is [V] int64."""
    is_special = np.zeros(tokenizer.vocab_size, dtype=bool)
    is_special[sorted(tokenizer.special_ids)] = True
    return Vocabulary(
        size=tokenizer.vocab_size,
        pad_id=tokenizer.pad_id,
        unk_id=tokenizer.unk_id,
        cls_id=tokenizer.cls_id,
        sep_id=tokenizer.sep_id,
        mask_id=tokenizer.mask_id,
        roles=tokenizer.roles,
        is_special=is_special,
        starts_word=tokenizer.starts_word_table(),
        ends_word=tokenizer.ends_word_table(),
        unigram_counts=unigram_counts,
        texts=partial(getattr, tokenizer, "texts"),
    )


@dataclass(eq=False, kw_only=True)
class TokenStore:
    """Read-only sentences of ids. Make one with `TokenStore.open`; write one with `prepare` or `TokenStoreWriter`.

    `num_documents`, `num_sentences`, `num_tokens`: counts. `vocabulary`: `Vocabulary` with this store's unigram counts.
    `sentence_lengths` [n] int32; `sentence_offsets` [n+1] int64, token positions in the whole store;
    `document_borders` [d+1] int64, in sentences. `sha256`: hash of the content (also of the tokenizer); a store built
    again from the same text and tokenizer has the same. `tokenizer_sha256`: as `Tokenizer.sha256`. `side_arrays`: the
    name of each side array, and what computed it.
    """

    path: Path
    shards: InitVar[list[Shard]]
    vocabulary: Vocabulary
    tokenizer_sha256: str
    sha256: str
    has_tokenizer: InitVar[bool]
    side_arrays: dict[str, str]

    def __post_init__(self, shards: list[Shard], has_tokenizer: bool) -> None:
        self._shards, self._has_tokenizer = shards, has_tokenizer
        self.sentence_lengths = _end_to_end([shard.index.lengths for shard in self._shards])
        self.document_borders = _all_borders(self._shards)
        for shard in self._shards:
            del shard.index  # all that it said stands in these two arrays
        self._first_token = np.cumsum([0] + [shard.num_tokens for shard in self._shards], dtype=np.int64)

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> TokenStore:
        """Open a store, or a foreign Megatron-LM folder or prefix (then `tokenizer` is needed: ids alone say nothing).

        `tokenizer` may also be the one that made the store with more roles (`[QUESTION]`), as no text gives these.
        A store that lies elsewhere (s3://...) is copied to this machine first.
        Raises: DataError where files are missing or damaged, ids lie outside the vocabulary, or `tokenizer` is another
        than the one that made the store (the message says what each is).
        """
        path = path_of(folder)
        if isinstance(path, RemotePath):
            path = local_copy(path)
        if (path / STORE_NAME).is_file() or (path / MANIFEST_NAME).is_file():
            return _open_own(path, tokenizer)
        return _open_foreign(path, tokenizer)

    @cached_property
    def sentence_offsets(self) -> np.ndarray:
        """Where each sentence begins, in tokens of the whole store, and the end of the last: [n+1] int64."""
        offsets = np.zeros(len(self.sentence_lengths) + 1, dtype=np.int64)
        np.cumsum(self.sentence_lengths, out=offsets[1:])
        return offsets

    @property
    def num_documents(self) -> int:
        return len(self.document_borders) - 1

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_lengths)

    @property
    def num_tokens(self) -> int:
        return int(self._first_token[-1])

    @property
    def has_sentence_borders(self) -> bool:
        """Return whether some document has more than one sentence. Foreign stores often hold whole documents."""
        return self.num_sentences > self.num_documents

    def tokenizer(self) -> Tokenizer:
        """The tokenizer that made the store. Raises: DataError for a foreign store, which holds none."""
        if not self._has_tokenizer:
            raise DataError(f"{self.path} holds no tokenizer; name the one that made its ids.")
        return Tokenizer.load(self.path / TOKENIZER_FOLDER)

    def gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The ids of k token ranges end to end, int64. `starts` are positions in the whole store, as
        `sentence_offsets`; ranges may overlap, be empty and cross sentences and shards. Safe in any thread.

        Raises: IndexError for a range outside the store; DataError where a chunk read for the first time is damaged.
        """
        starts, lengths = _ranges(starts, lengths)
        if len(self._shards) == 1:
            shard = self._shards[0]
            if not shard.is_checked and len(starts):
                self._require_inside(starts, lengths)
                shard.check_ranges(starts, starts + lengths)
            ids = gather_ranges(shard.ids, starts, lengths)
            if ids.size == 0:
                self._require_inside(starts, lengths)  # the loop says "outside" with an empty answer
            return ids
        self._require_inside(starts, lengths)
        return self._gather_across(self._shards, starts, lengths, np.int64)

    def gather_side(self, name: str, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The values of a side array at k token ranges, end to end, uint8; ranges as for `gather`.

        Raises: DataError where the store has no such array, or a chunk is damaged; IndexError for a range outside.
        """
        if name not in self.side_arrays:
            found = ", ".join(self.side_arrays) or "none"
            raise DataError(
                f"{self.path} has no side array '{name}' (it has {found}). Prepare the text again with `--tag {name}`."
            )
        starts, lengths = _ranges(starts, lengths)
        self._require_inside(starts, lengths)
        return self._gather_across([shard.side[name] for shard in self._shards], starts, lengths, np.uint8)

    def verify(self) -> None:
        """Check every byte now. Raises: DataError naming the first damaged file."""
        for shard in self._shards:
            for file in (shard, *shard.side.values()):
                file.check_all()

    def _require_inside(self, starts: np.ndarray, lengths: np.ndarray) -> None:
        wrong = bounds_error(starts, lengths, self.num_tokens)
        if wrong >= 0:
            raise IndexError(
                f"range {wrong} is {starts[wrong]} + {lengths[wrong]} tokens; the store has {self.num_tokens:,}."
            )

    def _gather_across(
        self, files: Sequence[MappedFile], starts: np.ndarray, lengths: np.ndarray, dtype: type
    ) -> np.ndarray:
        places = np.cumsum(lengths) - lengths
        ends = starts + lengths
        out: np.ndarray = np.empty(int(lengths.sum()), dtype=dtype)
        first = np.searchsorted(self._first_token, starts, side="right") - 1
        last = np.searchsorted(self._first_token, ends, side="left") - 1
        for number, file in enumerate(files):
            here = np.flatnonzero((first <= number) & (last >= number) & (lengths > 0))
            if not len(here):
                continue
            base = self._first_token[number]
            begin = np.maximum(starts[here] - base, 0)
            end = np.minimum(ends[here] - base, len(file.values))
            file.check_ranges(begin, end)
            copy_ranges(file.values, begin, end - begin, places[here] + begin + base - starts[here], out)
        return out


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts, lengths = (np.ascontiguousarray(values, dtype=np.int64) for values in (starts, lengths))
    if starts.shape != lengths.shape or starts.ndim != 1:
        raise IndexError(f"starts {starts.shape} and lengths {lengths.shape} must be two lists of the same length.")
    return starts, lengths


def _open_own(path: Path, tokenizer: Tokenizer | None) -> TokenStore:
    files = read_manifest(path, DataError)
    if STORE_NAME not in files:
        found = ", ".join(sorted(files)[:3]) or "no files"
        raise DataError(f"{path} is no token store: it holds {found}. Make one with `spanwise prepare`.")
    verify_folder(path, DataError, read=lambda name: not name.endswith((".bin", ".u8")))  # those chunk by chunk
    try:
        record: JsonObject = decode_json(read_file(path / STORE_NAME))
    except ValueError as cause:
        raise DataError(f"{path / STORE_NAME} is not JSON ({cause}); prepare the text again.") from cause
    try:
        if record["format"] != STORE_FORMAT or record["version"] != STORE_VERSION:
            raise DataError(
                f"{path / STORE_NAME} is {record['format']!r} version {record['version']}; this release reads "
                f"{STORE_FORMAT!r} version {STORE_VERSION}. Prepare the text again."
            )
        vocabulary = _vocabulary_from_record(record["vocabulary"], path / TOKENIZER_FOLDER)
        if tokenizer is not None and tokenizer.sha256 != record["tokenizer_sha256"]:
            if not _gives_same_ids(path, tokenizer):
                raise DataError(_wrong_tokenizer(path, tokenizer, record["tokenizer_sha256"]))
            counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
            counts[: vocabulary.size] = vocabulary.unigram_counts
            vocabulary = vocabulary_of(tokenizer, counts)
        side_arrays = {name: str(source) for name, source in record.get("side_arrays", {}).items()}
        shards = [_open_own_shard(path, entry, side_arrays) for entry in record["shards"]]
    except (KeyError, TypeError, ValueError, IndexError) as cause:
        raise DataError(f"{path / STORE_NAME} lacks what a store needs ({cause!r}); prepare the text again.") from cause
    store = TokenStore(
        path=path,
        shards=shards,
        vocabulary=vocabulary,
        tokenizer_sha256=record["tokenizer_sha256"] if tokenizer is None else tokenizer.sha256,
        sha256=hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest(),
        has_tokenizer=True,
        side_arrays=side_arrays,
    )
    if sum(shard.num_bytes for shard in shards) <= CHECKED_WHEN_OPENED_BYTES:
        store.verify()
    return store


def _open_own_shard(path: Path, entry: JsonObject, side_arrays: Iterable[str]) -> Shard:
    name = entry["name"]
    index = parse_index(read_file(path / f"{name}.idx"), path / f"{name}.idx")
    checksums = np.array(entry["crc32"], dtype=np.uint32)
    shard = Shard(path / f"{name}.bin", index, checksums, continues_document=entry["continues_document"])
    for side in side_arrays:
        checksums = np.array(entry["side"][side], dtype=np.uint32)
        shard.side[side] = MappedFile(path / side_name(name, side), np.dtype(np.uint8), index.num_tokens, checksums)
    for file in (shard, *shard.side.values()):
        if file.num_checksums != -(-file.num_bytes // CHUNK_BYTES):
            raise DataError(
                f"{path / STORE_NAME} has {file.num_checksums} checksums for {file.path.name}; prepare the text again."
            )
    return shard


def _open_foreign(path: Path, tokenizer: Tokenizer | None) -> TokenStore:
    if path.is_dir():
        indexes = sorted(path.glob("*.idx"))
    else:
        prefix = path.with_suffix("") if path.suffix in (".idx", ".bin") else path
        indexes = [index] if (index := prefix.parent / f"{prefix.name}.idx").is_file() else []
    if not indexes:
        raise DataError(
            f"{path} is no token store: it has neither {STORE_NAME} nor .idx files. Make one with `spanwise prepare`."
        )
    if tokenizer is None:
        raise DataError(f"{path} is not one of our stores (no {STORE_NAME}); name the tokenizer that made its ids.")
    shards, digest = [], hashlib.sha256(tokenizer.sha256.encode())
    counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    for index_path in indexes:
        content = read_file(index_path)
        digest.update(content)
        shard = Shard(index_path.with_suffix(".bin"), parse_index(content, index_path), None)
        digest.update(shard.count_ids_into(counts))
        shards.append(shard)
    if not counts.any():
        raise DataError(f"{path} holds no tokens.")
    return TokenStore(
        path=path,
        shards=shards,
        vocabulary=vocabulary_of(tokenizer, counts),
        tokenizer_sha256=tokenizer.sha256,
        sha256=digest.hexdigest(),
        has_tokenizer=False,
        side_arrays={},
    )


def vocabulary_record(vocabulary: Vocabulary) -> JsonObject:
    """`Vocabulary` as it stands in `store.json`."""
    ends = np.flatnonzero(vocabulary.ends_word).tolist()
    return {
        "size": vocabulary.size,
        **{name: getattr(vocabulary, name) for name in ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id")},
        "special_ids": np.flatnonzero(vocabulary.is_special).tolist(),
        "continuation_ids": np.flatnonzero(~vocabulary.starts_word).tolist(),
        "unigram_counts": vocabulary.unigram_counts.tolist(),
        **({"word_end_ids": ends} if ends else {}),
        **({"roles": dict(vocabulary.roles)} if vocabulary.roles else {}),
    }


def _vocabulary_from_record(record: JsonObject, tokenizer_folder: Path) -> Vocabulary:
    is_special = np.zeros(record["size"], dtype=bool)
    is_special[record["special_ids"]] = True
    starts_word = np.ones(record["size"], dtype=bool)
    starts_word[record["continuation_ids"]] = False
    ends_word = np.zeros(record["size"], dtype=bool)
    ends_word[record.get("word_end_ids", [])] = True
    ids = {name: record[name] for name in ("size", "pad_id", "unk_id", "cls_id", "sep_id", "mask_id")}
    counts = np.array(record["unigram_counts"], dtype=np.int64)
    return Vocabulary(
        **ids,
        is_special=is_special,
        starts_word=starts_word,
        unigram_counts=counts,
        ends_word=ends_word,
        roles=record.get("roles", {}),
        texts=partial(_texts_of, tokenizer_folder),
    )


def _texts_of(folder: Path) -> tuple[str, ...]:
    return Tokenizer.load(folder).texts


def _gives_same_ids(path: Path, tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer is the store's own with roles that no text can take."""
    own = Tokenizer.load(path / TOKENIZER_FOLDER)
    missing = [role for role in tokenizer.roles if role not in own.roles]
    return bool(missing) and with_roles(own, missing).sha256 == tokenizer.sha256


def _wrong_tokenizer(path: Path, tokenizer: Tokenizer, expected: str) -> str:
    own = Tokenizer.load(path / TOKENIZER_FOLDER)
    made, given = _described(own), _described(tokenizer)
    if made == given:
        made, given = f"{made}, hash {expected[:8]}", f"{given}, hash {tokenizer.sha256[:8]}"
    where = f" in {tokenizer.folder}" if tokenizer.folder is not None else ""
    return (
        f"{path} was made with another tokenizer: {made}, and the one given{where} is {given}. "
        f"Use the one in {path / TOKENIZER_FOLDER}, or prepare the text again."
    )


def _described(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.kind} of {tokenizer.vocab_size:,}, {'cased' if tokenizer.is_cased else 'uncased'}"


def _end_to_end(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _all_borders(shards: list[Shard]) -> np.ndarray:
    """Document borders of all shards, in sentences of the whole store; empty documents are left out."""
    borders, base = [np.zeros(1, dtype=np.int64)], 0
    for shard in shards:
        inner = shard.index.documents + base
        if shard.continues_document:
            borders[-1] = borders[-1][:-1]
        borders.append(inner[1:])
        base += len(shard.index.lengths)
    return np.unique(np.concatenate(borders))
