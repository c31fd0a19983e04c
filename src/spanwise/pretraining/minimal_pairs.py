"""Minimal pairs: does the model find the grammatical sentence of two more likely than the other?

A sentence's score is its pseudo-log-likelihood: each token in turn is masked and its log-probability under the masked
LM head is added up. The pair is right when the good sentence scores higher; chance is 50 %.

Source: Salazar et al. 2020 (pseudo-log-likelihood); Warstadt et al. 2020 (BLiMP: rows of `sentence_good`,
`sentence_bad` and `UID`, the paradigm).
Letters: C masked copies in a pack, T tokens in the pack.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from spanwise.errors import DataError
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_loss
from spanwise.pretraining.measure import evaluating
from spanwise.text.readers import read_json_lines
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class MinimalPair:
    """Two sentences that differ in one thing; `paradigm` names the thing."""

    good: str
    bad: str
    paradigm: str


def read_minimal_pairs(path: str | Path) -> list[MinimalPair]:
    """Read BLiMP's JSON lines (plain or compressed). Raises: DataError naming file and line."""
    pairs = []
    for number, row in read_json_lines(Path(path)):
        good, bad = (row.get(f"sentence_{which}") if isinstance(row, dict) else None for which in ("good", "bad"))
        if not isinstance(row, dict) or not isinstance(good, str) or not isinstance(bad, str):
            came = f"an object of {', '.join(map(str, row)) or 'nothing'}" if isinstance(row, dict) else repr(row)[:80]
            raise DataError(
                f"{path}, line {number} is {came}; expected a JSON object with sentence_good and sentence_bad, both "
                "text. Correct the line, or leave it out."
            )
        pairs.append(MinimalPair(good=good, bad=bad, paradigm=str(row.get("UID", ""))))
    if not pairs:
        raise DataError(f"{path} holds no pair; expected one JSON object a line.")
    return pairs


def pseudo_log_likelihoods(
    sentences: Sequence[str], encoder: Encoder, head: MaskedLMHead, tokenizer: Tokenizer, max_tokens: int = 8192
) -> np.ndarray:
    """Return the sum of log P(token | all others) of each sentence, in nats: float64 [sentences].

    Copies of all sentences are packed to `max_tokens`. A sentence longer than the encoder is cut, as every token of
    both sentences of a pair is then cut alike.
    """
    scores = np.zeros(len(sentences))
    with torch.inference_mode(), evaluating(encoder):
        for rows, ids, lengths, positions, targets in _packs(sentences, encoder, tokenizer, max_tokens):
            sequences = Sequences.from_lengths(lengths)
            hidden_TD = encoder(torch.from_numpy(ids), torch.zeros(len(ids), dtype=torch.int64), sequences)
            rows_CD = head.transform(hidden_TD[torch.from_numpy(positions)])
            loss = vocabulary_loss(
                rows_CD, head.weight, head.bias, torch.from_numpy(targets), encoder.config.vocab_size, per_row=True
            )
            losses_C = cast(Tensor, loss.losses)  # asked for with per_row
            np.add.at(scores, rows, -losses_C.double().numpy())
    return scores


def judge_minimal_pairs(
    pairs: Sequence[MinimalPair], encoder: Encoder, head: MaskedLMHead, tokenizer: Tokenizer
) -> np.ndarray:
    """Return 1 where the good sentence scores higher, 0 where the bad one does, 0.5 for a tie: float64 [pairs]."""
    good = pseudo_log_likelihoods([pair.good for pair in pairs], encoder, head, tokenizer)
    bad = pseudo_log_likelihoods([pair.bad for pair in pairs], encoder, head, tokenizer)
    return np.where(good == bad, 0.5, (good > bad).astype(np.float64))


def _packs(
    sentences: Sequence[str], encoder: Encoder, tokenizer: Tokenizer, max_tokens: int
) -> Iterator[tuple[np.ndarray, np.ndarray, list[int], np.ndarray, np.ndarray]]:
    """Masked copies end to end: (sentence of each copy, ids [T], lengths, masked position of each copy, its id)."""
    rows: list[int] = []
    copies: list[np.ndarray] = []
    masked: list[int] = []
    total = 0
    for row, encoding in enumerate(tokenizer.encode_batch(list(sentences))):
        ids = np.asarray(encoding.ids, dtype=np.int64)[: encoder.config.max_positions - 2]
        whole = np.concatenate([[tokenizer.cls_id], ids, [tokenizer.sep_id]]).astype(np.int64)
        for place in range(1, len(whole) - 1):
            if copies and total + len(whole) > max_tokens:
                yield _pack_of(rows, copies, masked, tokenizer.mask_id)
                rows, copies, masked, total = [], [], [], 0
            rows.append(row)
            copies.append(whole)
            masked.append(place)
            total += len(whole)
    if copies:
        yield _pack_of(rows, copies, masked, tokenizer.mask_id)


def _pack_of(
    rows: list[int], copies: list[np.ndarray], masked: list[int], mask_id: int
) -> tuple[np.ndarray, np.ndarray, list[int], np.ndarray, np.ndarray]:
    """Return masked copies as one pack, as `_packs` gives it."""
    lengths = [len(copy) for copy in copies]
    ids = np.concatenate(copies)
    positions = np.cumsum([0, *lengths[:-1]]) + np.asarray(masked)
    targets = ids[positions].copy()
    ids[positions] = mask_id
    return np.asarray(rows), ids, lengths, positions, targets
