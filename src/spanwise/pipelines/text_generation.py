"""Write on from a text: `spanwise.pipeline("text-generation", model="run/gpt/final")("The river")`.

Differs from the pipeline of `transformers`: an answer says why it ended and what of the text the model did not see;
drawn texts are a pure function of the seed and of the input's place in the call; special tokens are never written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, build_encoder
from spanwise.nn.decoding.writer import CausalModel, Choosing, StopReason, Writing
from spanwise.pipelines.base import CallOptions, Pipeline, Reading
from spanwise.pipelines.given import (
    InputError,
    OptionError,
    checked_text,
    open_checkpoint,
    texts_given,
    whole_number,
)
from spanwise.runtime.device import choose_device
from spanwise.runtime.seed import derive_key
from spanwise.text.tokenizers import Tokenizer

TAIL = 8  # tokens of the prompt that are decoded with what follows, so that blanks between the two come out right


@dataclass(frozen=True, kw_only=True)
class GenerationOptions(CallOptions):
    """The options of a call.

    At most `max_new_tokens` are written. The most likely token is taken, or with `do_sample` one is drawn from the
    `top_k` best (None: from all) after scores are divided by `temperature`, `num_return_sequences` times over; `seed`
    decides every draw. A text ends before the first of `stop_strings` in it, or before a token of `stop_tokens`
    (pieces of the vocabulary, words of one piece, or ids); `include_stop` keeps what ended it. `on_overflow` says what
    is done where prompt and new tokens are more than the model has positions: "windows" lets the oldest tokens go and
    counts them, "error" refuses before anything is written. `use_cache` and `pad_token_id` of old code change nothing.
    """

    max_new_tokens: int = 40
    do_sample: bool = False
    top_k: int | None = None
    temperature: float | None = None
    num_return_sequences: int = 1
    seed: int = 0
    stop_strings: str | Sequence[str] = ()
    stop_tokens: str | int | Sequence[str | int] = ()
    include_stop: bool = False
    use_cache: bool = True
    pad_token_id: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_new_tokens", "num_return_sequences"):
            whole_number(name, getattr(self, name))
        if self.top_k is not None:
            whole_number("top_k", self.top_k)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise OptionError(f"seed must be a whole number, got {self.seed!r}.")
        is_number = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        if self.temperature is not None and not (is_number and 0 < self.temperature < math.inf):
            raise OptionError(f"temperature must be above 0, got {self.temperature!r}; the limit 0 is do_sample=False.")
        if not self.do_sample:
            for name in ("top_k", "temperature"):
                if getattr(self, name) is not None:
                    raise OptionError(f"{name} belongs to do_sample=True; the most likely token needs none.")
            if self.num_return_sequences > 1:
                raise OptionError(
                    "num_return_sequences above 1 belongs to do_sample=True; there is one most likely text."
                )
        for text in self.stops:
            if not text:
                raise OptionError(f"stop_strings are texts of at least one character, got {text!r}.")
        if not isinstance(self.stop_tokens, str | int | np.integer | Collection):
            raise OptionError(f"stop_tokens is a token, an id or a list of them, got {self.stop_tokens!r}.")

    @property
    def stops(self) -> tuple[str, ...]:
        """Return the strings that end a text."""
        return tuple(texts_given("stop_strings", self.stop_strings))


class Written(Reading):
    """The text as given and what was written, that alone, why it ended, and how many tokens were written and read."""

    text: str
    generated_text: str
    stop_reason: StopReason
    stop: str | None
    num_tokens: int
    num_prompt_tokens: int


Prompt = tuple[str, np.ndarray]  # a text and its ids [n] int64


class TextGenerationPipeline(Pipeline[Prompt, Written | list[Written], GenerationOptions]):
    """`generate("The river")` -> `{"text", "generated_text", "stop_reason", "stop", "num_tokens", ...}`.

    `model` is a causal model (GPT-1). An answer is a dictionary: `text` (the prompt as given and what was written),
    `generated_text` (that alone), `stop_reason` ("max_new_tokens", "stop_string", "stop_token", or "end_of_text" where
    the model wrote its tokenizer's separator), `stop` (which string or token), `num_tokens` (written),
    `num_prompt_tokens`, `num_windows` and `num_dropped_tokens` (how often the window moved on, and how many of the
    oldest tokens were no longer in it at the end). With `num_return_sequences` above 1 it is a list of dictionaries.

    Raises: CheckpointError for a model that is not causal, or was not trained to guess the next token; OptionError for
    precision="int8", which is for reading.
    """

    name = "text-generation"
    options_type = GenerationOptions

    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        if self.precision == "int8":
            raise OptionError("precision 'int8' is for models that read; a model that writes runs in 'auto' or 'fp32'.")
        checkpoint, self.tokenizer = open_checkpoint(model, tokenizer)
        _refuse_others(checkpoint)
        self.model = CausalModel(build_encoder(checkpoint).to(choose_device(device)), self.tokenizer.vocab_size)

    def _check(self, options: GenerationOptions) -> None:
        for stop in options.stops:
            if not self.tokenizer.is_cased and stop != stop.lower():
                raise OptionError(
                    f"the model writes small letters alone, so {stop!r} never comes; use {stop.lower()!r}."
                )
        self._stop_ids(options)

    def _parse(self, item: object, options: GenerationOptions) -> Prompt:
        text = checked_text("the text", item)
        ids = self.tokenizer.encode(text).ids.astype(np.int64)
        if not len(ids):
            raise InputError("the tokenizer keeps nothing of the text; give at least one word to write on from.")
        room = self.model.max_positions
        if options.on_overflow == "error" and len(ids) + options.max_new_tokens > room:
            raise InputError(
                f"{len(ids):,} tokens and {options.max_new_tokens:,} new ones are more than the {room:,} positions "
                "of the model; shorten one of them, or leave on_overflow at 'windows'."
            )
        return text, ids

    def _answer(self, items: list[Prompt], options: GenerationOptions, first: int) -> list[Written | list[Written]]:
        stop_ids = self._stop_ids(options)
        samples = range(options.num_return_sequences)
        writings = [
            [Writing(prompt=ids, key=derive_key(options.seed, "generation", number, sample)) for sample in samples]
            for number, (_, ids) in enumerate(items, first)
        ]
        endings = _Endings(self.tokenizer, stop_ids, options.stops)
        banned = np.array(sorted(self.tokenizer.special_ids - stop_ids.keys()), dtype=np.int64)
        temperature = options.temperature or 1.0
        self.model.write(
            [writing for own in writings for writing in own],
            Choosing(banned=banned, sample=options.do_sample, top_k=options.top_k, temperature=temperature),
            max_new_tokens=options.max_new_tokens,
            ended=endings.reason,
            precision=self.precision,
        )
        answers = [
            [_written(text, writing, endings, options.include_stop) for writing in own]
            for (text, _), own in zip(items, writings, strict=True)
        ]
        return [own[0] if len(own) == 1 else own for own in answers]

    def _stop_ids(self, options: GenerationOptions) -> dict[int, StopReason]:
        """Return the tokens that end a text. Raises: OptionError for one that the vocabulary doesn't have."""
        found: dict[int, StopReason] = {}
        if self.tokenizer.sep_id >= 0:
            found[self.tokenizer.sep_id] = "end_of_text"
        given = options.stop_tokens
        for token in [given] if isinstance(given, str | int | np.integer) else given:
            found[self._token_id(token)] = "stop_token"
        return found

    def _token_id(self, token: object) -> int:
        size = self.tokenizer.vocab_size
        if isinstance(token, int | np.integer) and not isinstance(token, bool):
            if 0 <= token < size:
                return int(token)
            raise OptionError(f"stop token {token} is outside this vocabulary of {size:,} tokens.")
        if not isinstance(token, str) or not token:
            raise OptionError(f"a stop token is a piece of the vocabulary, a word or an id, got {token!r}.")
        number = self.tokenizer.token_to_id(token)
        ids = self.tokenizer.encode(token).ids
        if len(ids) == 1 and ids[0] != self.tokenizer.unk_id:
            return int(ids[0])  # as it stands in a text: GPT-1's vocabulary has "." inside words and "." at their end
        if number is None:
            raise OptionError(
                f"{token!r} is no single token of this vocabulary ({len(ids)} pieces); use stop_strings=[{token!r}]."
            )
        return number


def _written(text: str, writing: Writing, endings: _Endings, include_stop: bool) -> Written:
    written, stop = endings.finish(writing, include_stop=include_stop)
    if text[-1:].isspace() and written[:1] == " ":
        written = written[1:]  # the prompt has the blank already
    read = Reading(num_windows=writing.num_windows, num_dropped_tokens=writing.num_dropped)
    counts = {"num_tokens": len(writing.new), "num_prompt_tokens": len(writing.prompt)}
    said = {"text": text + written, "generated_text": written, "stop_reason": writing.reason, "stop": stop}
    return cast(Written, {**said, **counts, **read})


class _Endings:
    """Decides after each token whether a text is at its end, and cuts it there."""

    def __init__(self, tokenizer: Tokenizer, stop_ids: dict[int, StopReason], strings: tuple[str, ...]) -> None:
        self._tokenizer, self._stop_ids, self._strings = tokenizer, stop_ids, strings

    def reason(self, writing: Writing) -> StopReason | None:
        """Return why the text ends behind its last token; None where it goes on."""
        if writing.new[-1] in self._stop_ids:
            return self._stop_ids[writing.new[-1]]
        if self._strings and self._first_stop(self._text(writing, writing.new)) is not None:
            return "stop_string"
        return None

    def finish(self, writing: Writing, *, include_stop: bool) -> tuple[str, str | None]:
        """Return the text that was written, and what ended it."""
        if writing.reason in ("stop_token", "end_of_text"):
            is_text = include_stop and writing.new[-1] not in self._tokenizer.special_ids
            kept = writing.new if is_text else writing.new[:-1]
            return self._text(writing, kept), self._tokenizer.tokens(writing.new[-1:])[0]
        text = self._text(writing, writing.new)
        stop = self._first_stop(text)
        if stop is None:
            return text, None
        place, string = stop
        return text[: place + len(string)] if include_stop else text[:place], string

    def _first_stop(self, text: str) -> tuple[int, str] | None:
        found = [(text.find(string), string) for string in self._strings]
        return min((pair for pair in found if pair[0] >= 0), default=None)

    def _text(self, writing: Writing, new: list[int]) -> str:
        """Return what the new tokens add to the prompt, with the blank between the two where there is one."""
        if not new:
            return ""
        before = writing.prompt[-TAIL:].tolist()
        prompt, whole = self._tokenizer.decode(before), self._tokenizer.decode([*before, *new])
        return whole[len(prompt) :] if whole.startswith(prompt) else self._tokenizer.decode(new)


def _refuse_others(checkpoint: Checkpoint) -> None:
    if not checkpoint.config.causal:
        raise CheckpointError(
            f"{checkpoint.folder} ({checkpoint.source_class}) sees both sides of a word, so it can't write on from a "
            "text. What fits is a causal model (spanwise pretrain gpt1-mini --text FILES --out RUN); a masked model "
            "fills blanks (pipeline 'fill-mask')."
        )
    if checkpoint.record and "clm" not in checkpoint.heads:
        raise CheckpointError(
            f"{checkpoint.folder} ({checkpoint.source_class}) was not trained to guess the next token, so what it "
            "writes would be noise. Name the pre-trained model."
        )
