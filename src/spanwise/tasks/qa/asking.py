"""The windows of a head that points from a question token: [CLS] question [QUESTION] . [SEP] passage [SEP].

All tokens have the first token type: neither Splinter's pre-training nor its fine-tuning has a second one. The
separators are tokens like others (`seen`, as `SplinterForQuestionAnswering` reads what its tokenizer gives), or keep
their positions outside attention (`unseen`), as in the paper's code: then no token of the window is [SEP].

Source: Ram et al. 2021 (Splinter), section 4.3 and the released code for fine-tuning.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from tokenizers import processors

from spanwise.errors import ConfigError
from spanwise.tasks.frames import Frame, frames_of, pair_frame
from spanwise.text.tokenizers import Tokenizer

Separators = Literal["seen", "unseen"]


@dataclass(frozen=True)
class AskingFrame(Frame):
    """A frame that asks: [QUESTION] is the first token behind the question's text."""

    gap: int = 0  # positions before the passage that no token has
    tail: int = 0  # positions behind the passage that no token has


def asking_frame(tokenizer: Tokenizer, separators: Separators) -> AskingFrame:
    """Return the frame of a question and its passage, whether the tokenizer's template has [QUESTION] or not.

    Raises: ConfigError for a tokenizer without [QUESTION], or with one behind the passage; as `pair_frame`.
    """
    if tokenizer.question_id < 0:
        raise ConfigError(
            "this tokenizer has no [QUESTION], from which the head points at answers; it is not the one that the model "
            "was trained with. Leave the tokenizer out, or name the model's own folder."
        )
    plain = pair_frame(tokenizer)
    asks = _question_and_stop(tokenizer)
    if tokenizer.question_id in plain.after:
        raise ConfigError(
            "this tokenizer's template puts [QUESTION] behind the passage, as Splinter's does with "
            'padding_side="left"; save it with padding_side="right", so that the question comes first.'
        )
    separator = plain.between
    if tokenizer.question_id in separator:  # a template of Splinter's
        separator = separator[np.flatnonzero(separator == tokenizer.question_id)[0] + 1 :]
        separator = separator[1:] if len(separator) > 1 and separator[0] in asks else separator
    hides = separators == "unseen"
    between = asks if hides else np.concatenate([asks, separator])
    after = plain.after[:0] if hides else plain.after
    return AskingFrame(
        before=plain.before,
        between=between,
        after=after,
        text_types=(0, 0),
        special_types=(np.zeros_like(plain.before), np.zeros_like(between), np.zeros_like(after)),
        gap=len(separator) if hides else 0,
        tail=len(plain.after) if hides else 0,
    )


def with_asking_template(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer with [QUESTION] in its template of two texts, so that other programs ask as we do.

    One whose template does more than to set tokens (RoBERTa's, which also moves offsets) stays as it is.
    """
    backend = tokenizer.copy_backend()
    if not isinstance(backend.post_processor, processors.TemplateProcessing | None):
        return tokenizer
    single, pair = frames_of(tokenizer)[0], asking_frame(tokenizer, "seen")
    backend.post_processor = processors.TemplateProcessing(
        single=[*_pieces(tokenizer, single.before), "$A:0", *_pieces(tokenizer, single.after)],
        pair=[
            *_pieces(tokenizer, pair.before),
            "$A:0",
            *_pieces(tokenizer, pair.between),
            "$B:0",
            *_pieces(tokenizer, pair.after),
        ],
        special_tokens=_named(tokenizer, [single.ids, pair.ids]),
    )
    return Tokenizer(backend, specials=tokenizer.specials, max_length=tokenizer.max_length)


def _question_and_stop(tokenizer: Tokenizer) -> np.ndarray:
    """Return the ids of [QUESTION] and of the full stop behind it, where the vocabulary has one."""
    stop = [number for number in tokenizer.encode(".").ids.tolist() if number != tokenizer.unk_id]
    return np.array([tokenizer.question_id, *stop[:1]], dtype=np.int64)


def _pieces(tokenizer: Tokenizer, ids: np.ndarray) -> list[str]:
    return [f"{piece}:0" for piece in tokenizer.tokens(ids)]


def _named(tokenizer: Tokenizer, frames: list[np.ndarray]) -> list[tuple[str, int]]:
    ids = np.unique(np.concatenate(frames)).tolist()
    return list(zip(tokenizer.tokens(ids), ids, strict=True))
