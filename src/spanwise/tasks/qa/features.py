"""Questions and their passages as model inputs, in windows: [CLS] question [SEP] passage [SEP] with BERT's tokenizers,
<s> question </s></s> passage </s> with RoBERTa's, as the tokenizer's own template says; or in a frame that asks
(asking.py), whose [QUESTION] a pointer starts from.

Everything is held once: the ids of a paragraph serve all its questions and windows, and a window is four integers
until its pack is assembled. Offsets point into the original text, so an answer is cut out of it, never rebuilt.

`measure_reach` tells which answers a vocabulary can point at: a model answers with whole pieces, and some answers end
inside one. `exact_ceiling` is the exact match of a model that always chooses the best span of pieces: what no training
can pass. Looked at are all places of the passage where a gold answer stands, whatever its case, with the pieces that
cover it and those inside it; spans longer than `max_answer_tokens` are not offered.

Letters: T tokens in the pack, S windows in the pack, W windows in all, n tokens of a passage.
Source: Devlin et al. 2018 (BERT), section 4.2 and its code for SQuAD.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.nn.sequences import Sequences
from spanwise.tasks.frames import Frame, pair_frame
from spanwise.tasks.qa.asking import AskingFrame
from spanwise.tasks.qa.data import Question, SquadData
from spanwise.tasks.qa.loss import SpanTargets
from spanwise.tasks.qa.score import Metric
from spanwise.tasks.qa.shared_words import Marks, marks_of, words_of
from spanwise.tasks.windows import passage_windows, token_range
from spanwise.text.tokenizers import Encoding, Tokenizer


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The number of questions that have an answer, of those without a gold answer that begins and ends where pieces do,
    of those that no span of pieces answers exactly, and of questions that have no answer."""

    num_answerable: int
    num_off_borders: int
    num_unmatched: int
    num_unanswerable: int = 0

    @property
    def off_borders(self) -> float:
        """Share of answers that no piece border can reach, 0 to 100."""
        return 100.0 * self.num_off_borders / max(1, self.num_answerable)

    @property
    def exact_ceiling(self) -> float:
        """The best exact match over all questions, 0 to 100."""
        total = self.num_answerable + self.num_unanswerable
        return 100.0 * (total - self.num_unmatched) / max(1, total)

    def record(self) -> dict[str, float]:
        return {"off_borders": self.off_borders, "exact_ceiling": self.exact_ceiling}

    def __str__(self) -> str:
        return (
            f"{self.num_off_borders:,} of {self.num_answerable:,} answers ({self.off_borders:.1f} %) do not begin and "
            f"end where pieces do; with this vocabulary exact match cannot pass {self.exact_ceiling:.1f}"
        )


def measure_reach(
    data: SquadData,
    passages: Sequence[Encoding],
    passage_of: np.ndarray,
    metric: Metric,
    *,
    max_answer_tokens: int,
    allow_null: bool,
) -> Reach | None:
    """Measure what the pieces of `passages` can reach; `passage_of` says which of them each question is on.

    allow_null: whether a question may be answered by "no answer". None where no question has an answer.
    """
    offsets = [np.asarray(passage.offsets, dtype=np.int64).reshape(-1, 2) for passage in passages]
    num_off_borders = num_unmatched = num_answerable = 0
    for number, question in enumerate(data.questions):
        if not question.answers:
            num_unmatched += not allow_null
            continue
        num_answerable += 1
        offsets_n2, context = offsets[passage_of[number]], data.context_of(question)
        on_borders, matched = _reached(question, context, offsets_n2, metric, max_answer_tokens)
        num_off_borders += not on_borders
        num_unmatched += not matched
    if not num_answerable:
        return None
    return Reach(
        num_answerable=num_answerable,
        num_off_borders=num_off_borders,
        num_unmatched=num_unmatched,
        num_unanswerable=len(data.questions) - num_answerable,
    )


def _reached(
    question: Question, context: str, offsets_n2: np.ndarray, metric: Metric, max_answer_tokens: int
) -> tuple[bool, bool]:
    """Return whether a gold answer stands between piece borders somewhere, and whether some span reads as one."""
    golds = {metric.normalize(answer.text) for answer in question.answers}
    on_borders = matched = False
    for text in dict.fromkeys(answer.text for answer in question.answers):
        for start, end in _places(text, context):
            for first, last in _spans(offsets_n2, start, end):
                begin, stop = int(offsets_n2[first, 0]), int(offsets_n2[last, 1])
                on_borders |= (begin, stop) == (start, end)
                if last - first < max_answer_tokens:
                    matched |= metric.normalize(context[begin:stop]) in golds
            if on_borders and matched:
                return True, True
    return on_borders, matched


def _places(text: str, context: str) -> Iterator[tuple[int, int]]:
    """Half-open characters where the text stands in the passage: as it is first, then in any case."""
    text = text.strip()
    if not text:
        return
    start = context.find(text)
    while start >= 0:
        yield start, start + len(text)
        start = context.find(text, start + 1)
    for found in re.finditer(re.escape(text), context, re.IGNORECASE):
        yield found.span()


def _spans(offsets_n2: np.ndarray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """First and last piece of the spans around and inside the characters: each end at the piece that it lies in, or at
    the next one further in."""
    begins, ends = offsets_n2[:, 0], offsets_n2[:, 1]
    outer_first = int(np.searchsorted(ends, start, side="right"))
    inner_first = int(np.searchsorted(begins, start, side="left"))
    outer_last = int(np.searchsorted(begins, end, side="left")) - 1
    inner_last = int(np.searchsorted(ends, end, side="right")) - 1
    num_tokens = len(offsets_n2)
    for first, last in itertools.product({outer_first, inner_first}, {outer_last, inner_last}):
        if 0 <= first <= last < num_tokens:
            yield first, last


TARGET = "answer"  # the name of the one target of this task
Gold = Literal["first", "all"]


@dataclass(frozen=True, kw_only=True)
class QuestionWindows:
    """All windows of a data set, in the order of its questions.

    `question_W` index into the data's questions; `first_W`, `last_W` half-open range of the paragraph's tokens;
    `lengths_W` tokens with question and specials; `gold_G2` positions in the window of the first and last answer
    token of each gold answer, window after window as `gold_borders_W` [W+1] says; one 0, 0 where a window shows none.
    """

    question_W: np.ndarray
    first_W: np.ndarray
    last_W: np.ndarray
    lengths_W: np.ndarray
    gold_G2: np.ndarray
    gold_borders_W: np.ndarray
    question_ids: Sequence[np.ndarray]  # cut to the longest question allowed
    passages: Sequence[Encoding]  # one per paragraph that has a question
    paragraph_of: np.ndarray  # which of the passages each question is on
    is_impossible: np.ndarray  # bool, one per question: it has no answer
    frame: Frame
    num_token_types: int
    num_dropped_Q: np.ndarray  # tokens of each question that are not read
    marks_Q: Sequence[Marks] | None = None  # of each question: the words that it shares with its passage
    num_unreachable_answers: int = 0  # questions of whose answers the tokenizer keeps no character; not trained on
    reach: Reach | None = None  # how many answers the tokenizer can point at, where the data has answers

    def __len__(self) -> int:
        return len(self.lengths_W)

    @property
    def dropped_tokens(self) -> np.ndarray:
        return self.num_dropped_Q

    @property
    def num_cut_questions(self) -> int:
        return int((self.num_dropped_Q > 0).sum())

    def passage(self, row: int) -> Encoding:
        """The whole passage that window `row` is cut from."""
        return self.passages[self.paragraph_of[self.question_W[row]]]

    def passage_start(self, row: int) -> int:
        """Return where the passage begins in window `row`: behind [CLS], the question and what parts the two."""
        return _passage_start(self.frame, len(self.question_ids[self.question_W[row]]))

    def assemble(self, rows: np.ndarray) -> Batch:
        """Lay the windows `rows` end to end, with the token types of the frame (BERT's: 0 up to the first [SEP]), and
        with those of shared words where they are marked."""
        pieces: list[np.ndarray] = []
        types: list[np.ndarray] = []
        for row in rows:
            passage = np.asarray(self.passage(row).ids[self.first_W[row] : self.last_W[row]])
            ids_n, types_n = self.frame.wrap(self.question_ids[self.question_W[row]], passage)
            pieces.append(ids_n)
            types.append(self._types(row, types_n))
        lengths_S = self.lengths_W[rows]
        starts_S = np.cumsum(lengths_S) - lengths_S
        place_S = np.array([self.passage_start(row) for row in rows])
        numbers_S = np.diff(self.gold_borders_W)[rows]
        chosen_G = np.concatenate([np.arange(*self.gold_borders_W[row : row + 2]) for row in rows])
        gold_G2 = self.gold_G2[chosen_G] + np.repeat(starts_S, numbers_S)[:, None]
        passage_S1 = (starts_S + place_S)[:, None]
        passage_S2 = np.concatenate([passage_S1, passage_S1 + (self.last_W - self.first_W)[rows, None]], axis=1)
        borders_S = None if (numbers_S == 1).all() else np.concatenate([[0], np.cumsum(numbers_S)])
        return Batch(
            input_ids=torch.from_numpy(np.concatenate(pieces).astype(np.int64)),
            token_type_ids=torch.from_numpy(np.concatenate(types).astype(np.int64)),
            sequences=self._sequences(lengths_S, place_S),
            targets={
                TARGET: SpanTargets(
                    first_G=torch.from_numpy(gold_G2[:, 0].copy()),
                    last_G=torch.from_numpy(gold_G2[:, 1].copy()),
                    borders_S=None if borders_S is None else torch.from_numpy(borders_S),
                    passage_S2=torch.from_numpy(passage_S2),
                    impossible_S=torch.from_numpy(self.is_impossible[self.question_W[rows]].astype(np.float32)),
                    question_S=self._asking_rows(starts_S, place_S),
                )
            },
            counts={TARGET: len(rows)},
            ids=tuple(int(row) for row in rows),
        )

    def _types(self, row: int, types_n: np.ndarray) -> np.ndarray:
        """Return the token types of a window, given those of its frame."""
        question, start = self.question_W[row], self.passage_start(row)
        if self.marks_Q is None:
            return np.minimum(types_n, max(0, self.num_token_types - 1))
        before = len(self.frame.before)
        return self.marks_Q[question].typed(
            types_n,
            self.num_token_types,
            question=slice(before, before + len(self.question_ids[question])),
            passage=slice(start, start + int(self.last_W[row] - self.first_W[row])),
            first=int(self.first_W[row]),
        )

    def _asking_rows(self, starts_S: np.ndarray, place_S: np.ndarray) -> torch.Tensor | None:
        """Return the rows of the pack that ask; None where the frame does not."""
        if not isinstance(self.frame, AskingFrame):
            return None
        return torch.from_numpy(starts_S + place_S - len(self.frame.between))

    def _sequences(self, lengths_S: np.ndarray, place_S: np.ndarray) -> Sequences:
        """Return the borders of the windows, with the positions that separators out of attention leave free."""
        sequences = Sequences.from_lengths(lengths_S)
        if not isinstance(self.frame, AskingFrame) or not self.frame.gap:
            return sequences
        is_passage_T = sequences.positions >= torch.from_numpy(np.repeat(place_S, lengths_S))
        positions_T = sequences.positions + self.frame.gap * is_passage_T
        return replace(sequences, positions=positions_T, num_positions=int(positions_T.max()) + 1)


def make_windows(
    data: SquadData,
    tokenizer: Tokenizer,
    *,
    max_length: int,
    max_question_tokens: int,
    doc_stride: int | None = None,
    overlap: int | None = None,
    num_token_types: int = 2,
    mark_shared: bool = False,
    gold: Gold = "first",
    skip_unreachable: bool = False,
    frame: Frame | None = None,
) -> QuestionWindows:
    """Encode `data` and cut it into windows of at most `max_length` tokens.

    Windows start `doc_stride` tokens apart, or share `overlap` tokens with the next one, but at most three quarters of
    what a window shows of the passage: otherwise a text could become as many windows as it has tokens. A question keeps
    its first `max_question_tokens` pieces, and always leaves a quarter of the window to the passage.
    mark_shared: words that question and passage share have token types of their own, the last of `num_token_types`.
    gold: whether the first answer of a question is gold, or all of them (each range of tokens once). frame: the special
    tokens around question and passage; None: those of the tokenizer's template.
    With `skip_unreachable` (training) questions whose answer holds no token are left out; they are counted.
    Raises: ConfigError where `max_length` leaves no room, or for a tokenizer that frames no two texts; DataError.
    """
    if (doc_stride is None) is (overlap is None):
        raise ConfigError("give the windows either a doc_stride or an overlap.")
    frame = frame or pair_frame(tokenizer)
    question_limit = _question_limit(frame, max_length, max_question_tokens)
    place_of = {number: place for place, number in enumerate(sorted({q.paragraph for q in data.questions}))}
    passages = tokenizer.encode_batch([data.contexts[paragraph] for paragraph in place_of])
    paragraph_of = np.array([place_of[question.paragraph] for question in data.questions], dtype=np.int64)
    questions = tokenizer.encode_batch([question.text for question in data.questions])
    question_ids = [np.asarray(question.ids[:question_limit], dtype=np.int64) for question in questions]
    offsets = [np.asarray(passage.offsets, dtype=np.int64).reshape(-1, 2) for passage in passages]
    cut = _CutWindows(max_length - len(frame.after) - _num_free(frame), doc_stride, overlap or 0)
    for number, question in enumerate(data.questions):
        offsets_n2 = offsets[paragraph_of[number]]
        wanted, spans = _gold_spans(question, offsets_n2, gold)
        cut.num_unreachable += wanted and not spans
        if spans or not (wanted and skip_unreachable):
            cut.add(number, len(offsets_n2), spans, _passage_start(frame, len(question_ids[number])))
    if not cut.numbers:
        raise DataError(f"{data.source}: no question is left; the tokenizer keeps no character of any answer.")
    question_W, ranges_W2 = np.array(cut.numbers, dtype=np.int64), np.concatenate(cut.ranges)
    lengths_Q = np.array([len(ids) for ids in question_ids])
    return QuestionWindows(
        question_W=question_W,
        first_W=ranges_W2[:, 0],
        last_W=ranges_W2[:, 1],
        lengths_W=ranges_W2[:, 1] - ranges_W2[:, 0] + lengths_Q[question_W] + frame.num_specials,
        gold_G2=np.array(cut.golds, dtype=np.int64),
        gold_borders_W=np.concatenate([[0], np.cumsum(cut.gold_counts)]).astype(np.int64),
        question_ids=question_ids,
        passages=passages,
        paragraph_of=paragraph_of,
        is_impossible=np.array([not question.answers for question in data.questions]),
        frame=frame,
        num_token_types=num_token_types,
        marks_Q=_marks(data, paragraph_of, questions, offsets) if mark_shared else None,
        num_dropped_Q=np.array([max(0, len(question.ids) - question_limit) for question in questions]),
        num_unreachable_answers=cut.num_unreachable,
    )


def _marks(
    data: SquadData, paragraph_of: np.ndarray, questions: Sequence[Encoding], offsets: Sequence[np.ndarray]
) -> list[Marks]:
    """Return the shared words of each question, whose passage has the offsets of its number."""
    found, passage, number = [], None, -1
    for asked, encoding, place in zip(data.questions, questions, paragraph_of.tolist(), strict=True):
        if passage is None or place != number:  # questions of one passage mostly follow each other
            passage, number = words_of(data.context_of(asked), offsets[place]), place
        offsets_n2 = np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        found.append(marks_of(words_of(asked.text, offsets_n2), passage))
    return found


@dataclass
class _CutWindows:
    """The windows of one question after another, while they are cut: `room` tokens up to the end of the passage."""

    room: int
    doc_stride: int | None
    overlap: int
    numbers: list[int] = field(default_factory=list)  # the question of each window
    ranges: list[np.ndarray] = field(default_factory=list)
    golds: list[tuple[int, int]] = field(default_factory=list)
    gold_counts: list[int] = field(default_factory=list)
    num_unreachable: int = 0

    def add(self, number: int, num_tokens: int, spans: list[tuple[int, int]], start: int) -> None:
        """Cut the windows of a question, whose passage of `num_tokens` begins at position `start` of each."""
        capacity = self.room - start
        overlapping = max(capacity - self.overlap, -(-capacity // 4))
        stride = self.doc_stride if self.doc_stride is not None else overlapping
        windows_W2 = passage_windows(num_tokens, capacity, stride)
        self.numbers += [number] * len(windows_W2)
        self.ranges.append(windows_W2)
        for first, last in windows_W2.tolist():
            shown = [(a - first + start, b - 1 - first + start) for a, b in spans if first <= a and b <= last]
            self.golds += shown or [(0, 0)]
            self.gold_counts.append(max(1, len(shown)))


def _num_free(frame: Frame) -> int:
    """Return how many positions of a window have no token."""
    return frame.gap + frame.tail if isinstance(frame, AskingFrame) else 0


def _question_limit(frame: Frame, max_length: int, max_question_tokens: int) -> int:
    """Return how many tokens of a question are kept beside the special tokens, [QUESTION] among them."""
    if max_length < 8:
        raise ConfigError(f"max_length {max_length} leaves no room for a question and a passage; use 8 or more.")
    if not len(frame.before):
        raise ConfigError(
            "this tokenizer puts no special token before a text, and 'no answer' is an answer at that token; add one "
            "to its template."
        )
    limit = min(max_question_tokens, max_length - frame.num_specials - _num_free(frame) - max_length // 4)
    if limit < 1:
        raise ConfigError(f"max_question_tokens must be at least 1, got {max_question_tokens}.")
    return limit


def _gold_spans(question: Question, offsets_n2: np.ndarray, gold: Gold) -> tuple[bool, list[tuple[int, int]]]:
    """Return whether the question has a gold answer with a place, and the different token ranges of those it has."""
    chosen = question.answers if gold == "all" else question.answers[:1]
    wanted = [answer for answer in chosen if answer.start >= 0]
    found = [token_range(offsets_n2, answer.start, answer.end) for answer in wanted]
    return bool(wanted), list(dict.fromkeys(span for span in found if span is not None))


def _passage_start(frame: Frame, question_length: int) -> int:
    return len(frame.before) + question_length + len(frame.between)
