"""The facts of a tokenizer that array code needs: special ids, word starts, unigram counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

_NOTHING: np.ndarray = np.zeros(0, dtype=bool)


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Tables over the V real ids of one tokenizer. A special token that it lacks has id -1."""

    size: int  # V
    pad_id: int
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    is_special: np.ndarray  # [V] bool: ids that user text never becomes and random replacement never draws
    starts_word: np.ndarray  # [V] bool: False for continuation pieces (`##x`) and specials
    unigram_counts: np.ndarray  # [V] int64: how often each id stands in the store; all zero when unknown
    roles: Mapping[str, int] = field(default_factory=dict)  # ids of further special tokens, such as "question"
    ends_word: np.ndarray = field(default_factory=lambda: _NOTHING)  # [V] bool: what follows starts a word, always
    texts: Callable[[], Sequence[str]] = tuple  # gives what each id stands for, [V]; nothing when that is unknown

    @property
    def question_id(self) -> int:
        """The id of the token that stands for a span to be found elsewhere, -1 where there is none."""
        return self.roles.get("question", -1)

    def __post_init__(self) -> None:
        if self.ends_word is _NOTHING:
            object.__setattr__(self, "ends_word", np.zeros(self.size, dtype=bool))
