"""Fill blanks: `spanwise.pipeline("fill-mask", model="run/final")("Denver [MASK] the game.")`.

The call and the keys of the pipeline of `transformers`. Beyond it: the span-boundary head answers too, blanks side by
side can be filled jointly, a text longer than the model is read around each blank, and every answer says where in the
text its blank stood.
Differs: a text may not make special tokens, but for the mask token; several blanks of one text are told apart by runs
where `joint` is set.
Letters: n tokens of one text, K runs of blanks.
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, get_args

import numpy as np
import tokenizers
import torch
from torch import Tensor

from spanwise.errors import CheckpointError, DataError
from spanwise.pipelines.base import CallOptions, Pipeline
from spanwise.pipelines.given import (
    InputError,
    OptionError,
    checked_text,
    open_checkpoint,
    texts_given,
    whole_number,
)
from spanwise.pipelines.mask_model import HeadName, MaskModel, Question
from spanwise.runtime.device import choose_device
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class BlankedText:
    """One text as tokens, [CLS] and [SEP] not yet around them."""

    text: str
    ids: np.ndarray  # [n] int64
    offsets: np.ndarray  # [n, 2] int64: half-open characters of the text
    runs: list[tuple[int, int]]  # K half-open token ranges: blanks that follow one another


class BlankEncoder:
    """Encodes as the tokenizer does, but that its mask token marks a blank. Made once for many texts.

    The mask token of the model's own tokenizer is `[MASK]` in BERT's texts, `<mask>` in RoBERTa's. Every other special
    token that a text spells is plain text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.mask_id = tokenizer.mask_id
        self.mask_piece = tokenizer.tokens([tokenizer.mask_id])[0]
        record = json.loads(tokenizer.copy_backend().to_str())
        kept = [token for token in record["added_tokens"] if not token["special"] or token["id"] == self.mask_id]
        backend = tokenizers.Tokenizer.from_str(json.dumps({**record, "added_tokens": kept, "post_processor": None}))
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        # added tokens that are left out may have given the others another number
        own = backend.get_vocab(with_added_tokens=True)
        self._real_ids = np.arange(max(own.values()) + 1)
        for piece, number in own.items():
            found = tokenizer.token_to_id(piece)
            self._real_ids[number] = number if found is None else found
        ids = np.fromiter(tokenizer.special_ids, dtype=np.int64)
        self._forbidden = ids[(ids != self.mask_id) & (ids != tokenizer.unk_id)]

    def encode(self, text: str) -> BlankedText:
        """Raises: DataError for half a surrogate pair."""
        try:
            encoding = self._backend.encode(text, add_special_tokens=False)
        except TypeError as cause:
            self._tokenizer.encode(text)  # names what is wrong
            raise DataError(f"this text can't be encoded: {cause}") from cause
        ids = self._real_ids[np.array(encoding.ids, dtype=np.int64)]
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        if np.isin(ids, self._forbidden).any():
            ids, offsets = self._encode_apart(text)
        return BlankedText(text=text, ids=ids, offsets=offsets, runs=_runs(ids == self.mask_id))

    def _encode_apart(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Encode a text that spells another special: between blanks, all specials are switched off."""
        ids: list[np.ndarray] = []
        offsets: list[np.ndarray] = []
        place = 0
        for number, part in enumerate(text.split(self.mask_piece)):
            if number:
                ids.append(np.array([self.mask_id]))
                offsets.append(np.array([[place, place + len(self.mask_piece)]]))
                place += len(self.mask_piece)
            encoding = self._tokenizer.encode(part)
            ids.append(encoding.ids.astype(np.int64))
            offsets.append(encoding.offsets.astype(np.int64) + place)
            place += len(part)
        return np.concatenate(ids), np.concatenate(offsets)


def _runs(is_blank: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_blank.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def window_of(num_tokens: int, run: tuple[int, int], capacity: int) -> tuple[int, int]:
    """Return the half-open part of a text to read for a run of blanks: all of it, or `capacity` tokens around it."""
    if num_tokens <= capacity:
        return 0, num_tokens
    start, end = run
    first = start - (capacity - (end - start)) // 2
    first = min(max(0, first), num_tokens - capacity)
    return first, first + capacity


class Guess(TypedDict):
    """A token or phrase for a blank: its probability, its id or ids, its text, the whole text, the blank's place."""

    score: float
    token: int | list[int]
    token_str: str
    sequence: str
    start: int
    end: int


Guesses = list[Guess] | list[list[Guess]]  # of the one blank of a text, or of each of several


@dataclass(frozen=True, kw_only=True)
class FillOptions(CallOptions):
    """The options of a call.

    `top_k` best guesses; `targets` (a word or several) are the only ones considered. `joint` fills the blanks of a run
    together, from left to right, each in view of the last: `num_beams` unfinished phrases are kept (None: the larger
    of 5 and `top_k`; 1 is greedy).
    """

    top_k: int = 5
    targets: str | Sequence[str] | None = None
    joint: bool = False
    num_beams: int | None = None

    def __post_init__(self) -> None:
        for name in ("top_k", "num_beams"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        if self.targets is not None:
            texts_given("targets", self.targets)
        if self.num_beams is not None and not self.joint:
            raise OptionError("num_beams belongs to joint=True; blanks that are filled alone need none.")


Asked = Sequence[tuple[BlankedText, tuple[int, int]]]  # texts, each with one of its runs of blanks


class FillMaskPipeline(Pipeline[BlankedText, Guesses, FillOptions]):
    """`fill("Paris is the [MASK] of France.")` -> `[{"score", "token", "token_str", "sequence", "start", "end"}, ...]`.

    `model` has a masked-LM head (`head="mlm"`), a span-boundary head ("sbo", which sees the two tokens around a run of
    blanks alone) or both. A text with one blank gives a list of at most `top_k` dictionaries, best first: `score` (its
    probability), `token`, `token_str`, `sequence` (the text with the blank filled), `start` and `end` (half-open
    characters of the blank). Several blanks give one such list each, every blank filled on its own while the others
    stay. With `joint=True` there is one list per run of blanks instead; for runs of several blanks `token` is then a
    list, and `token_str` the phrase. A list of one text counts as one text, as in transformers.

    Raises: CheckpointError for a model without the head, a causal one, or one whose tokenizer has no mask token.
    """

    name = "fill-mask"
    options_type = FillOptions
    overflow_choices = ("windows",)
    is_one_for_list_of_one = True

    def __init__(self, model: Any, tokenizer: Any = None, *, head: HeadName = "mlm", **options: Any) -> None:
        if head not in get_args(HeadName):
            raise OptionError(f"head is 'mlm', 'sbo' or 'both', got {head!r}.")
        self._head = head
        super().__init__(model, tokenizer, **options)

    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        checkpoint, self.tokenizer = open_checkpoint(model, tokenizer)
        self.model = MaskModel(checkpoint, self._head, choose_device(device, self.precision), self.precision)
        self.model.num_ids = self.tokenizer.vocab_size
        if self.tokenizer.mask_id < 0:
            raise CheckpointError(f"the tokenizer of {checkpoint.folder} has no mask token to mark blanks with.")
        self._encoder = BlankEncoder(self.tokenizer)

    @property
    def mask_token(self) -> str:
        """Return the piece that marks a blank in a text."""
        return self._encoder.mask_piece

    def _parse(self, item: object, options: FillOptions) -> BlankedText:
        text = checked_text("the text", item)
        blanked = self._encoder.encode(text)
        if not blanked.runs:
            raise InputError(f"the text has no {self.mask_token}, which marks what to fill: {text[:60]!r}")
        longest = max(end - start for start, end in blanked.runs)
        if longest > self._capacity:
            raise InputError(f"the text has {longest} blanks in a row; this model reads {self._capacity} tokens.")
        return blanked

    def _answer(self, items: list[BlankedText], options: FillOptions, first: int) -> list[Guesses]:
        targets = self._target_ids(options.targets)
        asked = [(text, run) for text in items for run in text.runs]
        answers = iter(
            self._phrases(asked, options, targets) if options.joint else self._tokens(asked, options, targets)
        )
        found: list[Guesses] = []
        for text in items:
            own = [guesses for _ in text.runs for guesses in next(answers)]
            found.append(own[0] if len(own) == 1 else own)
        return found

    @property
    def _capacity(self) -> int:
        return self.model.encoder.config.max_positions - 2

    def _question(
        self, text: BlankedText, run: tuple[int, int], blanks: Sequence[int], filled: Sequence[int] = ()
    ) -> Question:
        """Return the text around a run with [CLS] and [SEP]; `filled` are ids of its first blanks, `blanks` places."""
        ids = text.ids.copy()
        ids[run[0] : run[0] + len(filled)] = filled
        first, last = window_of(len(ids), run, self._capacity)
        shift = 1 - first
        return Question(
            ids=np.concatenate([[self.tokenizer.cls_id], ids[first:last], [self.tokenizer.sep_id]]),
            blanks=np.array(blanks, dtype=np.int64) + shift,
            run=(run[0] + shift, run[1] + shift),
        )

    def _tokens(self, asked: Asked, options: FillOptions, targets: np.ndarray | None) -> list[list[list[Guess]]]:
        """Return, per run, the guesses for each of its blanks."""
        questions = [self._question(text, run, range(*run)) for text, run in asked]
        answers: list[list[list[Guess]]] = []
        found = self.model.log_probs(questions, precision=self.precision, packing=self.packing)
        for (text, run), logs_kV in zip(asked, found, strict=True):
            single = len(text.runs) == 1 and run[1] - run[0] == 1
            answers.append([])
            for place, log_V in zip(range(*run), logs_kV, strict=True):
                best = _best(log_V, options.top_k, targets)
                answers[-1].append([self._guess(text, (place, place + 1), [i], s, alone=single) for i, s in best])
        return answers

    def _phrases(self, asked: Asked, options: FillOptions, targets: np.ndarray | None) -> list[list[list[Guess]]]:
        """Return, per run, one list of phrases, found by a beam from left to right."""
        width = options.num_beams or max(5, options.top_k)
        return [[self._beam(text, run, width, options.top_k, targets)] for text, run in asked]

    def _beam(
        self, text: BlankedText, run: tuple[int, int], width: int, top_k: int, targets: np.ndarray | None
    ) -> list[Guess]:
        beams: list[tuple[list[int], float]] = [([], 0.0)]
        for place in range(*run):
            questions = [self._question(text, run, [place], filled) for filled, _ in beams]
            logs = self.model.log_probs(questions, precision=self.precision, packing=self.packing)
            grown = [
                ([*filled, token], total + float(np.log(score)))
                for (filled, total), log_1V in zip(beams, logs, strict=True)
                for token, score in _best(log_1V[0], max(width, top_k), targets)
                if score > 0.0
            ]
            beams = sorted(grown, key=lambda beam: -beam[1])[: max(width, top_k) if place == run[1] - 1 else width]
        alone = len(text.runs) == 1
        return [self._guess(text, run, ids, float(np.exp(total)), alone=alone) for ids, total in beams[:top_k]]

    def _guess(
        self, text: BlankedText, places: tuple[int, int], tokens: list[int], score: float, *, alone: bool
    ) -> Guess:
        """Return one guess; the special tokens of the sequence are shown where other blanks are left in it."""
        ids = text.ids.copy()
        ids[places[0] : places[1]] = tokens
        whole = np.concatenate([[self.tokenizer.cls_id], ids, [self.tokenizer.sep_id]])
        if alone:
            whole = whole[~np.isin(whole, list(self.tokenizer.special_ids))]
        return Guess(
            score=score, token=tokens if len(tokens) > 1 else tokens[0], token_str=self.tokenizer.decode(tokens),
            sequence=self.tokenizer.decode(whole), start=int(text.offsets[places[0], 0]),
            end=int(text.offsets[places[1] - 1, 1]),
        )  # fmt: skip

    def _target_ids(self, targets: str | Sequence[str] | None) -> np.ndarray | None:
        """Return the ids of the words to consider; of a word in several pieces the first, with a warning."""
        if targets is None:
            return None
        found: dict[int, None] = {}
        for target in texts_given("targets", targets):
            number = self.tokenizer.token_to_id(target)
            if number is None:
                pieces = self.tokenizer.encode(target).ids
                if not len(pieces):
                    warnings.warn(f"target {target!r} has no token; it is left out.", UserWarning, stacklevel=3)
                    continue
                number = int(pieces[0])
                piece = self.tokenizer.tokens([number])[0]
                words = f"target {target!r} is no single token; {piece!r} is asked for."
                warnings.warn(words, UserWarning, stacklevel=3)
            found[number] = None
        if not found:
            raise OptionError("targets names no word that has a token; name at least one, or leave it out.")
        return np.array(list(found), dtype=np.int64)


def _best(log_V: Tensor, top_k: int, targets: np.ndarray | None) -> list[tuple[int, float]]:
    """Return id and probability of the best ids, or of the best targets."""
    ids = None if targets is None else torch.from_numpy(targets)
    considered = log_V if ids is None else log_V[ids]
    values, places = considered.topk(min(top_k, len(considered)))
    chosen = places if ids is None else ids[places]
    return list(zip(chosen.tolist(), values.exp().tolist(), strict=True))
