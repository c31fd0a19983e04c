"""Find the words that a machine put in place of others: `spanwise.pipeline("replaced-tokens", model=FOLDER)(text)`.

ELECTRA's discriminator says of every piece how likely it was replaced; a word is as suspicious as its worst piece.
Source: Clark et al. 2020 (ELECTRA), section 2.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, build_head
from spanwise.interop.convert import GENERATOR
from spanwise.pipelines.base import CallOptions, Pipeline, Reading, Span
from spanwise.pipelines.given import OptionError, open_checkpoint
from spanwise.pipelines.windowed import WindowReader, whole_characters
from spanwise.tasks.windows import max_context_window
from spanwise.text.tokenizers import Encoding, Tokenizer


class JudgedPiece(Span):
    """A piece of a word, as the vocabulary writes it, and the probability that it was replaced."""

    piece: str
    score: float


class JudgedWord(Span):
    """A word, the probability of its most suspicious piece, and whether that reaches the threshold."""

    score: float
    is_replaced: bool
    pieces: list[JudgedPiece]


class Judged(Reading):
    """The words of a text, in order."""

    words: list[JudgedWord]


@dataclass(frozen=True, kw_only=True)
class DetectionOptions(CallOptions):
    """The options of a call. A word is called replaced from the probability `threshold` on."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        is_number = isinstance(self.threshold, int | float) and not isinstance(self.threshold, bool)
        if not is_number or not 0 <= self.threshold <= 1:
            raise OptionError(f"threshold must be a probability from 0 to 1, got {self.threshold!r}.")


class ReplacedTokensPipeline(Pipeline[str, Judged, DetectionOptions]):
    """`detect("The chef ate the meal.")` -> `{"words": [{"start", "end", "text", "score", "is_replaced", "pieces"}],
    "num_windows", "num_dropped_tokens"}`.

    `model` is ELECTRA's discriminator. A word is what the tokenizer takes for one; its `score` is the probability of
    its most suspicious piece. `pieces` has the same of each piece, and the `piece` as the vocabulary writes it. A text
    of several windows has each piece judged in the window that shows most around it.

    Raises: CheckpointError for a model without a head for replaced tokens.
    """

    name = "replaced-tokens"
    options_type = DetectionOptions

    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        checkpoint, self.tokenizer = open_checkpoint(model, tokenizer)
        _refuse_others(checkpoint)
        self.reader = WindowReader(checkpoint, self.tokenizer, device, self.precision, self.packing)
        head = build_head(checkpoint, "rtd", self.reader.encoder)
        assert head is not None  # asked above
        self.head = head.to(self.reader.encoder.word_embedding.device).eval()

    def _parse(self, item: object, options: DetectionOptions) -> str:
        text = self.reader.checked("the text", item)
        if options.on_overflow == "error":
            self.reader.windows(len(self.tokenizer.encode(text).ids), on_overflow="error")
        return text

    def _answer(self, items: list[str], options: DetectionOptions, first: int) -> list[Judged]:
        encodings = self.reader.encode(items)
        windows = [self.reader.windows(len(encoding.ids)) for encoding in encodings]
        parts = [e.ids[a:b] for e, ranges in zip(encodings, windows, strict=True) for a, b in ranges]
        with torch.inference_mode():
            chances = (torch.sigmoid(self.head(hidden_nD)).cpu().numpy() for hidden_nD in self.reader.read(parts))
            found: list[Judged] = []
            for text, encoding, ranges in zip(items, encodings, windows, strict=True):
                best_n = max_context_window(ranges, len(encoding.ids))
                chance_n = np.empty(len(encoding.ids), dtype=np.float32)
                for window, (begin, end) in enumerate(ranges):
                    own = best_n[begin:end] == window
                    chance_n[begin:end][own] = next(chances)[own]
                words = self._words(text, encoding, chance_n, options.threshold)
                found.append({"words": words, "num_windows": len(ranges), "num_dropped_tokens": 0})
        return found

    def _words(self, text: str, encoding: Encoding, chance_n: np.ndarray, threshold: float) -> list[JudgedWord]:
        offsets_n2 = encoding.offsets.tolist()
        names = self.tokenizer.tokens(encoding.ids)
        borders = [0, *(np.flatnonzero(np.diff(encoding.word_ids)) + 1).tolist(), len(names)]
        starts = [offsets_n2[place][0] for place in borders[:-1]] + [len(text)]
        found: list[JudgedWord] = []
        for number, (first, last) in enumerate(itertools.pairwise(borders)):
            end = whole_characters(text, offsets_n2[last - 1][1], starts[number + 1])
            score = float(chance_n[first:last].max())
            pieces = [
                JudgedPiece(start=a, end=b, text=text[a:b], piece=names[place], score=float(chance_n[place]))
                for place, (a, b) in enumerate(offsets_n2[first:last], first)
            ]
            word, is_replaced = text[starts[number] : end], score >= threshold
            found.append(
                JudgedWord(
                    start=starts[number], end=end, text=word, score=score, is_replaced=is_replaced, pieces=pieces
                )
            )
        return found


def _refuse_others(checkpoint: Checkpoint) -> None:
    if "rtd" in checkpoint.heads:
        return
    if checkpoint.folder.name == GENERATOR and (checkpoint.folder.parent / "config.json").exists():
        cure = f"it is ELECTRA's generator: name its discriminator, {checkpoint.folder.parent}"
    else:
        cure = "what fits is ELECTRA's discriminator: spanwise pretrain electra-mini --text FILES --out RUN"
    raise CheckpointError(
        f"{checkpoint.folder} ({checkpoint.source_class}) has no head that tells replaced tokens, and a fresh one's "
        f"answers would be noise; {cure}."
    )
