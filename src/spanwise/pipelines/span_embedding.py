"""Vectors for spans of a text: `spanwise.pipeline("span-embedding", model=FOLDER)({"text": ..., "spans": [[0, 3]]})`.

| kind | vector of a span | length |
|---|---|---|
| boundary | hidden states of its first and its last piece, side by side | 2D |
| mean | mean of the hidden states of its pieces | D |
| boundary+width | boundary, and the embedding of its width that a coreference model has learned | 2D + P |

Letters: n spans of one text, D hidden size, P size of a width embedding.
Source: Joshi et al. 2020 (SpanBERT), section 2.2 (a span is what its boundaries say); Lee et al. 2017, section 4, for
boundary and width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NotRequired, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.pipelines.base import CallOptions, Pipeline, Reading, Span
from spanwise.pipelines.given import InputError, OptionError, open_checkpoint
from spanwise.pipelines.windowed import WindowReader
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.windows import token_range
from spanwise.text.tokenizers import Encoding, Tokenizer

Kind = Literal["boundary", "mean", "boundary+width"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WIDTHS = "spans.width.weight"  # of a coreference head


@dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(CallOptions):
    """The options of a call. `kind` says what a vector is made of."""

    kind: str = "boundary"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = did_you_mean(self.kind, KINDS) if isinstance(self.kind, str) else ""
            raise OptionError(f"kind {self.kind!r} is not here; kinds are {', '.join(KINDS)}.{near}")


class EmbeddedSpan(Span):
    """The characters that a span was read from, and how many pieces they are."""

    is_snapped: bool
    num_pieces: int
    is_width_cut: NotRequired[bool]


class Embedded(Reading):
    """A float32 row per span, in order, and where each was read."""

    embeddings: np.ndarray
    spans: list[EmbeddedSpan]


@dataclass(frozen=True)
class _Asked:
    """A text with its spans: characters as asked for, and the half-open range of pieces that each is read by."""

    text: str
    encoding: Encoding
    spans: list[tuple[int, int]]
    pieces: list[tuple[int, int]]


class SpanEmbeddingPipeline(Pipeline[_Asked, Embedded, EmbeddingOptions]):
    """`embed({"text": text, "spans": [[0, 3], [10, 14]]})` -> `{"embeddings", "spans", "num_windows",
    "num_dropped_tokens"}`.

    `model` is any encoder; "boundary+width" needs one that was fine-tuned for coreference. A span is `[start, end]` or
    `{"start", "end"}`, half-open characters of the text. The answer has `embeddings`, a float32 array with a row for
    each span, in order, and `spans`: where each was read. A span that begins or ends inside a piece is read from whole
    pieces: `start` and `end` then lie further out and `is_snapped` is true. `num_pieces` is its length; widths beyond
    those that a coreference model knows count as its greatest (`is_width_cut`). Of a long text each span is read in
    the window that shows most around it; `num_windows` are those that were read.

    Raises: CheckpointError where "boundary+width" is asked for and the model has no embedding of widths.
    """

    name = "span-embedding"
    options_type = EmbeddingOptions

    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        self._checkpoint, self.tokenizer = open_checkpoint(model, tokenizer)
        self._widths_WP = self._checkpoint.heads.get("coref", {}).get(WIDTHS)
        self._check(self._defaults)  # before the encoder is built
        self.reader = WindowReader(self._checkpoint, self.tokenizer, device, self.precision, self.packing)

    def _check(self, options: EmbeddingOptions) -> None:
        if options.kind == "boundary+width" and self._widths_WP is None:
            raise CheckpointError(
                f"{self._checkpoint.folder} ({self._checkpoint.source_class}) has no embedding of widths, which a "
                "coreference head has: fine-tune it (spanwise finetune coref), or take kind='boundary' or 'mean'."
            )

    def _parse(self, item: object, options: EmbeddingOptions) -> _Asked:
        if not isinstance(item, Mapping) or set(item) != {"text", "spans"}:
            raise InputError(f"{{'text', 'spans'}} was expected, got {type(item).__name__} {str(item)[:60]!r}.")
        text = self.reader.checked("'text'", item["text"])
        given = item["spans"]
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence | np.ndarray):
            raise InputError(f"'spans' is a {type(given).__name__}; a list of [start, end] was expected.")
        spans = [_checked_span(number, span, text) for number, span in enumerate(given)]
        (encoding,) = self.reader.encode([text])
        self.reader.windows(len(encoding.ids), on_overflow=options.on_overflow)
        pieces = []
        for number, (start, end) in enumerate(spans):
            found = token_range(encoding.offsets, start, end)
            if found is None:
                raise InputError(
                    f"span {number} [{start}, {end}] is {text[start:end]!r}, of which the tokenizer keeps nothing."
                )
            if found[1] - found[0] > self.reader.capacity:
                raise InputError(
                    f"span {number} [{start}, {end}] has {found[1] - found[0]:,} pieces, and the model reads "
                    f"{self.reader.capacity:,} at a time; part it."
                )
            pieces.append(found)
        return _Asked(text, encoding, spans, pieces)

    def _answer(self, items: list[_Asked], options: EmbeddingOptions, first: int) -> list[Embedded]:
        kind = options.kind
        plans = [_plan(self.reader, len(item.encoding.ids), item.pieces) for item in items]
        windows = [item.encoding.ids[begin:end] for item, plan in zip(items, plans, strict=True) for begin, end in plan]
        hidden = self.reader.read(windows)
        answers: list[Embedded] = []
        for item, plan in zip(items, plans, strict=True):
            rows = np.zeros((len(item.spans), self._size(kind)), dtype=np.float32)
            for (begin, _), numbers in plan.items():
                ranges_k2 = torch.tensor([item.pieces[number] for number in numbers]) - begin
                rows[numbers] = self._vectors(next(hidden), ranges_k2, kind).cpu().numpy()
            spans = [self._span(item, number, kind) for number in range(len(item.spans))]
            answers.append({"embeddings": rows, "spans": spans, "num_windows": len(plan), "num_dropped_tokens": 0})
        return answers

    def _size(self, kind: str) -> int:
        size = self.reader.encoder.config.hidden_size
        if kind == "mean":
            return size
        return 2 * size + (self._widths_WP.shape[1] if kind == "boundary+width" and self._widths_WP is not None else 0)

    def _vectors(self, states_nD: Tensor, ranges_k2: Tensor, kind: str) -> Tensor:
        """Return a row for each of k half-open ranges of a window's pieces."""
        first_k, last_k = ranges_k2.to(states_nD.device).unbind(1)
        if kind == "mean":
            upto_nD = F.pad(states_nD.double().cumsum(0), (0, 0, 1, 0))  # sums of a prefix
            return (upto_nD[last_k] - upto_nD[first_k]) / (last_k - first_k)[:, None]
        parts = [states_nD[first_k], states_nD[last_k - 1]]
        if kind == "boundary+width":
            assert self._widths_WP is not None  # asked before
            widest = len(self._widths_WP)
            parts.append(self._widths_WP.to(states_nD.device)[(last_k - first_k).clamp(max=widest) - 1])
        return torch.cat(parts, 1)

    def _span(self, item: _Asked, number: int, kind: str) -> EmbeddedSpan:
        (start, end), (first, last) = item.spans[number], item.pieces[number]
        covered = item.encoding.offsets[first:last]
        begin, stop = min(start, int(covered[:, 0].min())), max(end, int(covered[:, 1].max()))
        is_snapped = (begin, stop) != (start, end)
        words = item.text[begin:stop]
        span = EmbeddedSpan(start=begin, end=stop, text=words, is_snapped=is_snapped, num_pieces=last - first)
        if kind == "boundary+width" and self._widths_WP is not None:
            span["is_width_cut"] = last - first > len(self._widths_WP)
        return span


def _plan(reader: WindowReader, num_tokens: int, pieces: list[tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    """Return which windows of a text are read, and for which of its spans; a span that no window holds gets its own."""
    windows = reader.windows(num_tokens).tolist()
    plan: dict[tuple[int, int], list[int]] = {}
    for number, (first, last) in enumerate(pieces):
        context = {
            (begin, stop): min(first - begin, stop - last) + 0.01 * (stop - begin)
            for begin, stop in windows
            if begin <= first and last <= stop
        }
        if context:
            best = max(context, key=lambda window: context[window])
        else:
            begin = min(max(0, first - (reader.capacity - (last - first)) // 2), num_tokens - reader.capacity)
            best = (begin, begin + reader.capacity)
        plan.setdefault(best, []).append(number)
    return plan


def _checked_span(number: int, span: object, text: str) -> tuple[int, int]:
    """Return half-open characters. Raises: InputError for what is no span of the text."""
    if isinstance(span, Mapping):
        span = [span.get("start"), span.get("end")]
    values = list(span) if isinstance(span, Sequence | np.ndarray) and not isinstance(span, str) else []
    if len(values) != 2 or not all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values):
        raise InputError(f"span {number} is {str(span)[:40]!r}; [start, end] in characters was expected.")
    start, end = map(int, values)
    if not 0 <= start <= end <= len(text):
        raise InputError(
            f"span {number} [{start}, {end}] lies outside its text of {len(text):,} characters; start and end count "
            "characters from 0, the end not included."
        )
    if start == end:
        raise InputError(f"span {number} [{start}, {end}] is empty; its end is not included.")
    return start, end
