"""Span masking for people who keep their own loop: a list of examples in, padded tensors out.

```python
collator = SpanMaskingCollator(tokenizer)
Trainer(model=model, data_collator=collator, ...)          # or DataLoader(data, collate_fn=collator, num_workers=2)
```

The examples become a pack, the masking parts choose and replace as in our own pre-training (the same compiled loops),
and the result is padded. Letters: B examples, T tokens of all of them, L padded length, M spans of an example.
Source: SpanBERT, section 3.1.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.utils.data import get_worker_info

from spanwise.errors import ConfigError, DataError
from spanwise.integrations.huggingface import arrays
from spanwise.integrations.huggingface.rows import TOKEN_KEYS, Examples, Rows, read_rows
from spanwise.integrations.huggingface.tokenizer_tables import vocabulary_of
from spanwise.pretraining.masking import GeometricSpans, NoReplacement, Replacement
from spanwise.pretraining.masking.base import MaskingScheme, ShorteningReplacement, bound
from spanwise.pretraining.masking.checked import selected
from spanwise.pretraining.masking.merge import merged
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.seed import derive_key, keys_for

IGNORED = -100  # label of a token that is no target, whatever the pad id is
_COUNTED = -1  # epoch of a collator that counts its calls
_FILL = {"attention_mask": 0, "token_type_ids": 0, "labels": IGNORED, "span_mask": 0}


class SpanMaskingCollator:
    """Mask and pad examples for any model of `transformers`; a drop-in for `DataCollatorForLanguageModeling`.

    `tokenizer`: any fast tokenizer with a mask token. `masking` and `replacement`: parts of
    `spanwise.pretraining.masking` (spans of whole words and 80/10/10 per span when left out). Random tokens follow
    `unigram_counts` [V] where given, as in the paper, else all tokens alike; they are never specials. Where words start
    is told from the ids by one table; an example may bring its own `word_ids`, and `special_tokens_mask` for more
    that must stay visible (under the Trainer both need `remove_unused_columns=False`).

    Examples are dictionaries with `input_ids` (lists, arrays, tensors), or ids alone, or a tokenizer's whole batch;
    they are never changed. Out come `input_ids`, `attention_mask`, `labels` (-100 where nothing is hidden),
    `token_type_ids` and single numbers where given, all [B, L] int64 or [B]. `extra_keys` adds `span_mask` [B, L]
    (1 at hidden tokens) or `spans` [B, M, 2] (half-open, filled with -1). Examples with `span_mask` and `labels` of
    their own (see `premask`) are only padded.

    Random numbers are counted, never carried. As it comes, masks are a function of `seed`, the loader's worker seed and
    the number of calls so far: they differ in every call, worker and epoch, and repeat with the same seed, loader and
    `torch.manual_seed`. After `set_epoch(n)`, or with `epoch=n`, they are a function of `seed`, the epoch and the
    tokens of the example alone: the same whatever batch, worker or process it is in, also after a resume.

    `padding` is to the longest example or to `max_length`; `max_length` also cuts longer examples, keeping a special
    token at their end. `padding_side` is the tokenizer's unless given.

    Raises: ConfigError for options or a tokenizer that can't work; calls raise DataError naming example and key.
    """

    def __init__(
        self,
        tokenizer: object,
        *,
        masking: MaskingScheme | None = None,
        replacement: Replacement | NoReplacement | None = None,
        unigram_counts: ArrayLike | None = None,
        seed: int = 0,
        epoch: int | None = None,
        padding: Literal["longest", "max_length"] = "longest",
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: Literal["left", "right"] | None = None,
        extra_keys: Collection[str] = (),
        return_tensors: Literal["pt", "np"] = "pt",
    ) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary_of(tokenizer, unigram_counts)
        self.masking = bound(masking if masking is not None else GeometricSpans(), self.vocabulary)
        usual = Replacement(random_law="uniform" if unigram_counts is None else "unigram")
        self.replacement = usual if replacement is None else replacement
        if isinstance(self.replacement, ShorteningReplacement):
            raise ConfigError(
                f"replacement {type(self.replacement).__name__} makes sequences shorter, and this collator keeps every "
                "token at its place; use Replacement(), or pre-train with `spanwise pretrain`."
            )
        self.seed = seed
        self.padding, self.max_length, self.pad_to_multiple_of = padding, max_length, pad_to_multiple_of
        self.padding_side = padding_side or getattr(tokenizer, "padding_side", "right")
        self.extra_keys = frozenset([extra_keys] if isinstance(extra_keys, str) else extra_keys)
        self.return_tensors = return_tensors
        self._check()
        law = self.replacement
        if isinstance(law, Replacement) and not law.random:  # any law will do, and counts are not needed
            law = replace(law, random_law="uniform")
        self._random_ids = law.random_ids(self.vocabulary)
        self._eos_id: int | None = getattr(tokenizer, "eos_token_id", None)
        self._num_calls = 0
        self._epoch = _shared(_COUNTED if epoch is None else epoch)

    @property
    def special_ids(self) -> list[int]:
        """Return the ids that are never hidden; the unknown token stands for a word and is none of them."""
        ids = np.flatnonzero(self.vocabulary.is_special)
        return ids[ids != self.vocabulary.unk_id].tolist()

    @property
    def epoch(self) -> int | None:
        """Return the epoch that was set, None while calls are counted."""
        return None if (epoch := int(self._epoch)) == _COUNTED else epoch

    def set_epoch(self, epoch: int) -> None:
        """Draw masks by epoch and example from now on. Call it before `iter(loader)`; it reaches living workers."""
        if epoch < 0:
            raise ConfigError(f"an epoch is 0 or more, got {epoch}.")
        self._epoch.fill_(epoch)

    def __call__(self, examples: Examples) -> dict[str, Any]:
        """Return the batch of these examples. Raises: DataError."""
        rows = self._cut(self._read(examples))
        columns, spans = self._columns(rows)
        length = self._length(rows.borders)
        left = self.padding_side == "left"
        pad_id = self.vocabulary.pad_id
        if pad_id < 0 and length * (len(rows.borders) - 1) > len(rows.input_ids):
            raise ConfigError("the tokenizer has no pad token, which rows of unlike lengths need; set its pad_token.")
        batch = {
            key: arrays.padded(column_T, rows.borders, length, _FILL.get(key, pad_id), left)
            for key, column_T in columns.items()
            if key != "span_mask" or "span_mask" in self.extra_keys
        }
        if "spans" in self.extra_keys:
            batch["spans"] = arrays.spans_by_row(spans.sequence, spans.start, spans.end, rows.borders, length, left)
        batch |= rows.scalars
        return batch if self.return_tensors == "np" else {key: torch.from_numpy(value) for key, value in batch.items()}

    def premask(self, examples: Examples) -> list[dict[str, object]]:
        """Return the examples masked once and for all, as lists, for instance an evaluation set with constant masks.

        They are masked as in the epoch that was set, or as in epoch 0; collators only pad them.
        """
        rows = self._cut(self._read(examples))
        columns, _ = self._columns(rows, epoch=self.epoch or 0)
        parts = {key: np.split(column_T, rows.borders[1:-1]) for key, column_T in columns.items()}
        single = {key: column_B.tolist() for key, column_B in rows.scalars.items()}
        return [
            {key: part[row].tolist() for key, part in parts.items()} | {key: single[key][row] for key in single}
            for row in range(len(rows.borders) - 1)
        ]

    def _read(self, examples: Examples) -> Rows:
        rows = read_rows(examples)
        low, high = arrays.extremes(rows.input_ids)
        if low < 0 or high >= self.vocabulary.size:
            outside = np.flatnonzero((rows.input_ids < 0) | (rows.input_ids >= self.vocabulary.size))
            row = int(np.searchsorted(rows.borders, outside[0], "right")) - 1
            raise DataError(
                f"example {row} has an id outside 0 to {self.vocabulary.size - 1}; its ids are not this tokenizer's."
            )
        return rows

    def _columns(self, rows: Rows, epoch: int | None = None) -> tuple[dict[str, np.ndarray], Spans]:
        """Return all columns of the batch as flat arrays [T], and the spans."""
        real_T = arrays.attention_of(rows, self.vocabulary, self._eos_id)
        columns = {"input_ids": rows.input_ids, "attention_mask": real_T.astype(np.int64)}
        if rows.token_type_ids is not None:
            columns["token_type_ids"] = rows.token_type_ids
        if rows.span_mask is not None and rows.labels is not None:
            sequence, start, end = arrays.runs_of(rows.span_mask, rows.borders)
            columns |= {"labels": rows.labels, "span_mask": rows.span_mask}
            return columns, Spans(sequence=sequence, start=start, end=end)
        maskable_T, starts_word_T = arrays.words_of(rows, real_T, self.vocabulary)
        select_keys_B, replace_keys_B, names_B = self._keys(rows, real_T, epoch)
        pack = Pack(
            input_ids=rows.input_ids,
            token_type_ids=rows.input_ids,  # no masking looks at them
            borders=rows.borders,
            maskable=maskable_T,
            starts_word=starts_word_T,
            block_ids=names_B,
        )
        spans = merged(selected(self.masking, pack, select_keys_B))
        columns["labels"], columns["span_mask"] = arrays.labels_and_marks(
            rows.input_ids, spans.start, spans.end, IGNORED
        )
        columns["input_ids"] = self.replacement.apply(pack, spans, replace_keys_B, self.vocabulary, self._random_ids)
        return columns, spans

    def _keys(self, rows: Rows, real_T: np.ndarray, epoch: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return keys of choosing and of replacing, uint64 [B], and the examples' names."""
        names_B = arrays.fingerprints(rows.input_ids, real_T, rows.borders)
        seed, epoch = self.seed, self.epoch if epoch is None else epoch
        if epoch is None:
            worker = get_worker_info()
            seed = derive_key(self.seed, "call", 0 if worker is None else worker.seed, self._num_calls)
            self._num_calls += 1
            names_B += np.arange(len(names_B))  # equal examples of a batch are masked apart
            epoch = 0
        return keys_for(seed, "masking", epoch, names_B), keys_for(seed, "replacement", epoch, names_B), names_B

    def _cut(self, rows: Rows) -> Rows:
        """Cut rows to `max_length` tokens; a special token at the end of a longer one takes the last place."""
        lengths_B = np.diff(rows.borders)
        if self.max_length is None or (lengths_B <= self.max_length).all():
            return rows
        keep_T = np.ones(len(rows.input_ids), dtype=bool)
        for row in np.flatnonzero(lengths_B > self.max_length):
            last = rows.borders[row + 1] - 1
            closes = self.vocabulary.is_special[rows.input_ids[last]] and rows.input_ids[last] != self.vocabulary.pad_id
            keep_T[rows.borders[row] + self.max_length - int(closes) : last + 1 - int(closes)] = False
        borders = np.zeros_like(rows.borders)
        np.cumsum(np.minimum(lengths_B, self.max_length), out=borders[1:])
        columns = {key: column[keep_T] for key in TOKEN_KEYS if (column := getattr(rows, key)) is not None}
        return replace(rows, input_ids=rows.input_ids[keep_T], borders=borders, **columns)

    def _length(self, borders: np.ndarray) -> int:
        if self.padding == "max_length" and self.max_length is not None:
            length = self.max_length
        else:
            length = int(np.diff(borders).max())
        multiple = self.pad_to_multiple_of or 1
        return -(-length // multiple) * multiple

    def _check(self) -> None:
        if getattr(self.masking, "side_arrays", ()):
            raise ConfigError(
                f"masking {type(self.masking).__name__} reads the tags of a prepared store; examples have none. Take "
                "another scheme here."
            )
        if getattr(self.replacement, "mask", 0.0) and self.vocabulary.mask_id < 0:
            raise ConfigError(
                f"{type(self.tokenizer).__name__} has no mask token, which the replacement puts there. Add one: "
                "tokenizer.add_special_tokens({'mask_token': '[MASK]'}), then "
                "model.resize_token_embeddings(len(tokenizer))."
            )
        for option in ("max_length", "pad_to_multiple_of"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise ConfigError(f"{option} must be at least 1, or None; got {value}.")
        for option, known in _CHOICES.items():
            if (value := getattr(self, option)) not in known:
                raise ConfigError(f"{option} must be one of {', '.join(map(repr, known))}; got {value!r}.")
        if self.padding == "max_length" and self.max_length is None:
            raise ConfigError("padding='max_length' needs max_length=NUMBER.")
        unknown = sorted(self.extra_keys - _EXTRA_KEYS)
        if unknown:
            raise ConfigError(f"extra_keys knows {', '.join(sorted(_EXTRA_KEYS))}; got {unknown[0]!r}.")


_EXTRA_KEYS = frozenset({"span_mask", "spans"})
_CHOICES = {"padding": ("longest", "max_length"), "padding_side": ("left", "right"), "return_tensors": ("pt", "np")}


def _shared(epoch: int) -> torch.Tensor:
    """Return a number that workers of a DataLoader see change, where the machine has shared memory."""
    value = torch.tensor(epoch, dtype=torch.int64)
    try:
        return value.share_memory_()
    except (RuntimeError, OSError):  # no /dev/shm: workers then keep the epoch they were started with
        return value
