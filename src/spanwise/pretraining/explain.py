"""Show what the context and what the borders make of hidden words: the paper's first figure, on any sentence.

Letters: n tokens of the text with [CLS] and [SEP], N hidden tokens, D hidden size, V vocabulary.
Source: Joshi et al. 2020 (SpanBERT), figure 1 and section 3.2: the loss of x_i is -log P(x_i | its context) and
-log P(x_i | left, right, p_i), added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.pretraining.collate import Masked
from spanwise.pretraining.masking.merge import LONE, hidden_tokens, no_marks, spans_of
from spanwise.pretraining.measure import TokenHead, evaluating, guess, head_rows
from spanwise.pretraining.packs import Pack, Spans
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.specials import SPECIAL_PIECES
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class HiddenToken:
    """One hidden token and its losses in nats; `sbo` and `total` are None where the borders give none."""

    token: str
    position: int  # in the sequence, [CLS] is 0
    left: str  # the last visible token before the span
    right: str  # the first visible token after it
    position_row: int  # row of the position table, 0 for the first token of the span (the paper's p_1)
    mlm: float  # -log P(token | context)
    sbo: float | None  # -log P(token | left, right, position)
    total: float | None  # their sum, the paper's loss
    mlm_guess: str  # the likeliest token by the context
    sbo_guess: str | None  # and by the borders


@dataclass(frozen=True, kw_only=True)
class SingleText:
    """One text as the model reads it: a pack of a single sequence, and the words its tokens belong to."""

    pack: Pack
    words: tuple[tuple[int, int], ...]  # half-open token ranges; words[0] is the first word, number 1 to people


def read_single_text(text: str, tokenizer: Tokenizer, max_length: int) -> SingleText:
    """Return `[CLS] text [SEP]` as a pack.

    Raises: ConfigError where the text has no token or more than `max_length` with the two specials, or the tokenizer
    lacks these.
    """
    if tokenizer.cls_id < 0 or tokenizer.sep_id < 0:
        raise ConfigError("this tokenizer has no [CLS] and [SEP] to put around the text; take one that has.")
    encoding = tokenizer.encode(text)
    num_tokens = len(encoding.ids) + 2
    if num_tokens == 2:
        raise ConfigError(f"the text {text!r} has no token; give it at least one word.")
    if num_tokens > max_length:
        raise ConfigError(f"the text has {num_tokens:,} tokens, the model reads at most {max_length:,}: shorten it.")
    maskable = np.ones(num_tokens, dtype=bool)
    maskable[[0, -1]] = False
    starts_word = np.zeros(num_tokens, dtype=bool)
    starts_word[1:-1] = np.diff(encoding.word_ids, prepend=-1) > 0
    firsts = np.flatnonzero(starts_word)
    pack = Pack(
        input_ids=np.concatenate([[tokenizer.cls_id], encoding.ids, [tokenizer.sep_id]]).astype(np.int64),
        token_type_ids=np.zeros(num_tokens, dtype=np.int64),
        borders=np.array([0, num_tokens], dtype=np.int64),
        maskable=maskable,
        starts_word=starts_word,
        block_ids=np.zeros(1, dtype=np.int64),
    )
    ends = [*firsts[1:].tolist(), num_tokens - 1]
    return SingleText(pack=pack, words=tuple(zip(firsts.tolist(), ends, strict=True)))


def spans_of_words(text: SingleText, words: Sequence[tuple[int, int]]) -> Spans:
    """Return half-open ranges of word numbers (the first word is 1) as spans of tokens, merged where they touch.

    Raises: ConfigError for an empty range or one outside the text.
    """
    marks_n = no_marks(len(text.pack.input_ids))
    for first, last in words:
        if not 1 <= first < last <= len(text.words) + 1:
            raise ConfigError(
                f"span {first}:{last} is not in the text: its words are 1 to {len(text.words)}, so a span is "
                f"FIRST:END with 1 <= FIRST < END <= {len(text.words) + 1}."
            )
        marks_n[text.words[first - 1][0] : text.words[last - 2][1]] = LONE
    return spans_of(marks_n, text.pack.borders)


@torch.inference_mode()
def explain_spans(
    encoder: Encoder,
    masked_lm: MaskedLMHead,
    span_boundary: SpanBoundaryHead | None,
    tokenizer: Tokenizer,
    text: SingleText,
    spans: Spans,
    *,
    beyond: Literal["last", "skip"] = "last",
) -> list[HiddenToken]:
    """Hide the spans ([MASK] at every token) and return the losses of their N tokens, in order.

    Without a boundary head (a plain BERT) the SBO columns are None. Tokens that lie deeper in their span than the
    position table reaches share its last row or have no SBO loss, as `SpanBoundary.beyond` says. Dropout is off here.
    """
    pack, hidden = text.pack, hidden_tokens(text.pack, spans)
    input_ids = pack.input_ids.copy()
    input_ids[hidden.position] = tokenizer.mask_id
    masked = Masked(pack=pack, spans=spans, hidden=hidden, input_ids=input_ids)
    heads: dict[str, TokenHead] = {"mlm": masked_lm, **({} if span_boundary is None else {"sbo": span_boundary})}
    found: dict[str, list[tuple[float, str] | tuple[None, None]]] = {}
    with evaluating(encoder):
        for _, name, rows_ND, asked_N in head_rows(encoder, [masked], heads, beyond):
            losses_N, ids_N = guess(heads[name], rows_ND, hidden.original_ids, asked_N, tokenizer.vocab_size)
            guesses = tokenizer.tokens(np.maximum(ids_N, 0))
            rows = zip(losses_N.tolist(), guesses, asked_N.tolist(), strict=True)
            found[name] = [(loss, token) if asked else (None, None) for loss, token, asked in rows]
    tokens, rows_N = tokenizer.tokens(pack.input_ids), hidden.position - spans.start[hidden.span]
    explained = []
    for index, (position, span) in enumerate(zip(hidden.position.tolist(), hidden.span.tolist(), strict=True)):
        mlm, mlm_guess = found["mlm"][index]
        assert mlm is not None and mlm_guess is not None  # it is asked for every token
        sbo, sbo_guess = found["sbo"][index] if "sbo" in found else (None, None)
        last_row = rows_N[index] if span_boundary is None else span_boundary.num_positions - 1
        explained.append(
            HiddenToken(
                token=tokens[position],
                position=position,
                left=tokens[spans.start[span] - 1],
                right=tokens[spans.end[span]],
                position_row=int(min(rows_N[index], last_row)),
                mlm=mlm,
                sbo=sbo,
                total=None if sbo is None else mlm + sbo,
                mlm_guess=mlm_guess,
                sbo_guess=sbo_guess,
            )
        )
    return explained


def words_as_tokens(text: str) -> Tokenizer:
    """Return a tokenizer that knows the words of one text and nothing else: a word is a token.

    For drawing masks where no vocabulary has been learned yet.
    """
    empty = wordpiece_backend({}, lowercase=False, strip_accents=False)
    split = empty.pre_tokenizer.pre_tokenize_str(empty.normalizer.normalize_str(text))
    pieces = dict.fromkeys([*SPECIAL_PIECES.values(), *(word for word, _ in split)])
    return Tokenizer(
        wordpiece_backend({piece: i for i, piece in enumerate(pieces)}, lowercase=False, strip_accents=False)
    )
