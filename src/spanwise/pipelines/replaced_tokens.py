"""Which words were put there by a machine: `spanwise.pipeline("replaced-tokens", model="run/electra/final")(text)`.

ELECTRA's discriminator says of every piece how likely it was replaced; a word is as suspicious as its worst piece.
Source: Clark et al. 2020 (ELECTRA), section 2.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, build_head
from spanwise.interop.convert import GENERATOR
from spanwise.pipelines.given import OptionError, option_values
from spanwise.pipelines.several import answer_all, chosen_overflow, open_checkpoint
from spanwise.pipelines.windowed import WindowReader, whole_characters
from spanwise.runtime.device import Precision
from spanwise.tasks.windows import max_context_window


@dataclass(frozen=True, kw_only=True)
class DetectionOptions:
    """The options of a call: from which chance on a word is called replaced, and what is done with a text longer than
    the model reads ("windows", "error")."""

    threshold: float = 0.5
    on_overflow: str = "windows"

    def __post_init__(self) -> None:
        is_number = isinstance(self.threshold, int | float) and not isinstance(self.threshold, bool)
        if not is_number or not 0 <= self.threshold <= 1:
            raise OptionError(f"threshold must be a probability from 0 to 1, got {self.threshold!r}.")
        chosen_overflow(self.on_overflow, "windows", ("windows", "error"))


_OPTIONS = tuple(DetectionOptions.__dataclass_fields__)


class ReplacedTokensPipeline:
    """`detect("The chef ate the meal.")` -> `{"words": [{"start", "end", "text", "score", "is_replaced", "pieces"}],
    "num_windows", "num_dropped_tokens"}`.

    `model` is a folder or hub id of ELECTRA's discriminator, `tokenizer` another folder or a `Tokenizer`. The options
    of a call (see `DetectionOptions`) can be given here as new defaults.

    Raises: CheckpointError for a model without a head for replaced tokens.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str | int | None = None,
        precision: Precision = "fp32",
        **options: Any,
    ) -> None:
        self._defaults = option_values(options, _OPTIONS, (), "replaced-tokens")
        DetectionOptions(**self._defaults)
        checkpoint, self.tokenizer = open_checkpoint(model, tokenizer)
        _refuse_others(checkpoint)
        self.reader = WindowReader(checkpoint, self.tokenizer, device, precision)
        head = build_head(checkpoint, "rtd", self.reader.encoder)
        assert head is not None  # asked above
        self.head = head.to(self.reader.encoder.word_embedding.device).eval()

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Look at a text, a list of texts, or a generator of them (answers then come as a generator).

        A word is what the tokenizer takes for one; its `score` is the probability of its most suspicious piece, and
        `text[start:end]` the word. `pieces` has the same of each piece, and the `piece` as the vocabulary writes it.
        A text of several windows has each piece judged in the window that shows most around it.

        Raises: InputError (a DataError and ValueError) for an input that is no text, or too long under
        on_overflow="error"; OptionError for an option.
        """
        given = option_values(options, _OPTIONS, (), "replaced-tokens")
        chosen = DetectionOptions(**{**self._defaults, **given})

        def parse(item: Any) -> str:
            text = self.reader.checked("the text", item)
            if chosen.on_overflow == "error":
                self.reader.windows(len(self.tokenizer.encode(text).ids), on_overflow="error")
            return text

        return answer_all(inputs, parse, lambda texts: self._judge(texts, chosen))

    def _judge(self, texts: list[str], options: DetectionOptions) -> list[dict[str, Any]]:
        encodings = self.reader.encode(texts)
        windows = [self.reader.windows(len(encoding.ids)) for encoding in encodings]
        parts = [
            encoding.ids[first:last]
            for encoding, ranges in zip(encodings, windows, strict=True)
            for first, last in ranges
        ]
        with torch.inference_mode():
            chances = (torch.sigmoid(self.head(hidden_nD)).cpu().numpy() for hidden_nD in self.reader.read(parts))
            found = []
            for text, encoding, ranges in zip(texts, encodings, windows, strict=True):
                best_n = max_context_window(ranges, len(encoding.ids))
                chance_n = np.empty(len(encoding.ids), dtype=np.float32)
                for window, (first, last) in enumerate(ranges):
                    own = best_n[first:last] == window
                    chance_n[first:last][own] = next(chances)[own]
                words = self._words(text, encoding, chance_n, options.threshold)
                found.append({"words": words, "num_windows": len(ranges), "num_dropped_tokens": 0})
        return found

    def _words(self, text: str, encoding: Any, chance_n: np.ndarray, threshold: float) -> list[dict[str, Any]]:
        offsets_n2 = encoding.offsets.tolist()
        names = self.tokenizer.tokens(encoding.ids)
        borders = [0, *(np.flatnonzero(np.diff(encoding.word_ids)) + 1).tolist(), len(names)]
        starts = [offsets_n2[place][0] for place in borders[:-1]] + [len(text)]
        found = []
        for number, (first, last) in enumerate(itertools.pairwise(borders)):
            end = whole_characters(text, offsets_n2[last - 1][1], starts[number + 1])
            score = float(chance_n[first:last].max())
            pieces = [
                {"start": a, "end": b, "text": text[a:b], "piece": names[place], "score": float(chance_n[place])}
                for place, (a, b) in enumerate(offsets_n2[first:last], first)
            ]
            found.append(
                {
                    "start": starts[number],
                    "end": end,
                    "text": text[starts[number] : end],
                    "score": score,
                    "is_replaced": score >= threshold,
                    "pieces": pieces,
                }
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
