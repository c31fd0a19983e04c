"""Which special tokens a tokenizer puts around one text and around two, as its own files say.

BERT writes [CLS] a [SEP] b [SEP], RoBERTa <s> a </s></s> b </s>, and GPT-1 nothing at all. The frame is read off the
tokenizer's template, so that the classes of Hugging Face see here what their own tokenizers would give them.
"""

import functools
from dataclasses import dataclass

import numpy as np
import tokenizers

from spanwise.errors import ConfigError
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True)
class Frame:
    """Special tokens before, between and after the texts (`between` of one text is empty), and the token types of
    all: those of a text, and those of each special token."""

    before: np.ndarray
    between: np.ndarray
    after: np.ndarray
    text_types: tuple[int, int]
    special_types: tuple[np.ndarray, np.ndarray, np.ndarray]

    @property
    def num_specials(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    @property
    def ids(self) -> np.ndarray:
        """All special tokens of the frame."""
        return np.concatenate([self.before, self.between, self.after])

    def wrap(self, first: np.ndarray, second: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids and token types of a whole sequence."""
        types = (
            np.full(len(first), self.text_types[0]),
            np.full(0 if second is None else len(second), self.text_types[1]),
        )
        before, between, after = self.special_types
        if second is None:
            return np.concatenate([self.before, first, self.after]), np.concatenate([before, types[0], after])
        return (
            np.concatenate([self.before, first, self.between, second, self.after]),
            np.concatenate([before, types[0], between, types[1], after]),
        )


@functools.lru_cache(maxsize=8)  # a pipeline asks at every call, and the copy takes time with the vocabulary
def frames_of(tokenizer: Tokenizer) -> tuple[Frame, Frame | None]:
    """The frame of one text and that of two; None for the second where the tokenizer has no token to part them."""
    backend = tokenizer.copy_backend()
    probe = _probe(backend, tokenizer)
    single, pair = _read(backend.encode(probe)), _read(backend.encode(probe, probe))
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    if not single.num_specials and cls >= 0 and sep >= 0:  # no template in the file: BERT's
        single, pair = _bert_frame(cls, sep, pair=False), _bert_frame(cls, sep, pair=True)
    return single, pair if len(pair.between) else None


def pair_frame(tokenizer: Tokenizer) -> Frame:
    """The frame of two texts. Raises: ConfigError where the tokenizer has no token to part them."""
    frame = frames_of(tokenizer)[1]
    if frame is None:
        raise ConfigError(
            "this tokenizer puts no special token between two texts, so a pair could not be told from one text. For a "
            "causal model take --recipe gpt-1 (task.layout=extract), which adds one; else add a separator to its "
            "template, or give single texts."
        )
    return frame


def _probe(backend: tokenizers.Tokenizer, tokenizer: Tokenizer) -> str:
    """Some text of at least one token."""
    for text in ("x", "the", *(tokenizer.decode([number]) for number in range(min(1000, tokenizer.vocab_size)))):
        if len(backend.encode(text, add_special_tokens=False).ids):
            return text
    raise ConfigError("this tokenizer gives no token for any text.")


def _read(encoding: tokenizers.Encoding) -> Frame:
    owners = encoding.sequence_ids
    ids, types = np.array(encoding.ids, dtype=np.int64), np.array(encoding.type_ids, dtype=np.int64)
    first = owners.index(0)
    last = len(owners) - 1 - owners[::-1].index(0)
    is_pair = 1 in owners
    start, stop = (owners.index(1), len(owners) - owners[::-1].index(1)) if is_pair else (last + 1, last + 1)
    return Frame(
        before=ids[:first],
        between=ids[last + 1 : start],
        after=ids[stop:],
        text_types=(int(types[first]), int(types[start]) if is_pair else 0),
        special_types=(types[:first], types[last + 1 : start], types[stop:]),
    )


def _bert_frame(cls: int, sep: int, *, pair: bool) -> Frame:
    end = np.array([sep])
    between = end if pair else end[:0]
    return Frame(
        before=np.array([cls]),
        between=between,
        after=end,
        text_types=(0, int(pair)),
        special_types=(np.array([0]), np.zeros(len(between), dtype=np.int64), np.array([int(pair)])),
    )
