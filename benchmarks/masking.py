"""Masking against the collator that most people use: `python benchmarks/masking.py [--json] [--rounds N]`.

64 sequences of 512 tokens, one thread, warm. Ours: ids in, replaced ids and the targets of the masked-LM objective out,
for spans those of the span-boundary objective too; the row "from the store to the batch" adds special tokens, word
starts, positions and the `Batch`; so does the row of recurring spans, on bundled text. Peer:
`DataCollatorForLanguageModeling` of transformers, PyTorch tensors: ids in, input_ids and labels out; its whole-word
mode is shown for information. Turns are interleaved, so that a busy machine slows both; figures are medians, the spread
is the middle half of ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import os
import time
from collections.abc import Callable
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# ruff: noqa: E402  (the thread counts above must come first)
import numpy as np
import torch
from interleaved import rounds_within, show_rows
from tokenizers import Tokenizer, models

import spanwise
from spanwise.data.token_store import vocabulary_of
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.collate import Collator, PackParts
from spanwise.pretraining.formats import BlockTable, SingleSegment
from spanwise.pretraining.masking import GeometricSpans, Replacement, SubwordTokens, WholeWords
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.recipes import splinter_mini
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer as WordPieces

NUM_SEQUENCES, LENGTH, VOCAB_SIZE, REPEATS, GOAL = 64, 512, 30_522, 7, 30.0
HAS_PEER = importlib.util.find_spec("transformers") is not None
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class IdsInMemory:
    """Ids of 64 blocks and the tables of their vocabulary: what a token store gives, without the disk."""

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray) -> None:
        self.vocabulary = vocabulary
        self._ids = ids

    def gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return self._ids


def make_vocabulary() -> Vocabulary:
    """A fifth of the ids are `##` pieces; counts fall like 1 / rank."""
    ids = np.arange(VOCAB_SIZE)
    return Vocabulary(
        size=VOCAB_SIZE,
        **{f"{name}_id": place for place, name in enumerate(("pad", "unk", "cls", "sep", "mask"))},
        is_special=ids < 5,
        starts_word=(ids >= 5) & (ids % 5 != 0),
        unigram_counts=10_000_000 // (1 + ids),
    )


def make_tokenizer(vocabulary: Vocabulary):
    """A tokenizer of transformers with this vocabulary."""
    from transformers import PreTrainedTokenizerFast

    pieces = [f"w{i}" if starts else f"##w{i}" for i, starts in enumerate(vocabulary.starts_word)]
    table = {piece: i for i, piece in enumerate([*SPECIALS, *pieces[len(SPECIALS) :]])}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordPiece(table, unk_token="[UNK]")),
        **{f"{name.strip('[]').lower()}_token": name for name in SPECIALS},
    )


def ours(masking, vocabulary: Vocabulary, text_ids: np.ndarray, whole_path: bool = False) -> Callable[[int], int]:
    spans = isinstance(masking, GeometricSpans)
    parts = PackParts(
        format=SingleSegment(max_length=LENGTH),
        masking=masking,
        replacement=Replacement(unit="span" if spans else "token"),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()} if spans else {"mlm": MaskedLM()},
    )
    collator = Collator(IdsInMemory(vocabulary, text_ids), parts, seed=0)
    lengths = np.full(NUM_SEQUENCES, LENGTH - 2)
    table = BlockTable(starts=np.cumsum(lengths) - lengths, lengths=lengths, num_special=2)
    rows = np.arange(NUM_SEQUENCES)
    if whole_path:
        return lambda epoch: collator.batch(collator.masked(table, rows, epoch)).counts["mlm"]
    pack = collator.format.assemble(collator.store, table, rows)

    def arrays_and_targets(epoch: int) -> int:
        masked = collator.mask(pack, epoch)
        return sum(o.targets(pack, masked.spans, masked.hidden).count for o in collator.objectives.values())

    return arrays_and_targets


def asking() -> Callable[[int], int]:
    """Splinter's questions in as many tokens of the bundled text, from the store to the batch: made-up ids recur too
    seldom."""
    package = Path(spanwise.__file__).parent
    words = with_roles(WordPieces.load(package / "weights" / "mini"), ("question",))
    text = lzma.decompress((package / "quickstart" / "corpus" / "wiki-valid.txt.xz").read_bytes()).decode("utf-8")
    ids = words.encode(text).ids.astype(np.int64)
    vocabulary = vocabulary_of(words, np.bincount(ids, minlength=words.vocab_size))
    recipe = splinter_mini()
    parts = PackParts(
        format=SingleSegment(max_length=LENGTH),
        masking=recipe.masking,
        replacement=recipe.replacement,
        objectives=recipe.objectives,
    )
    collator = Collator(IdsInMemory(vocabulary, ids[: NUM_SEQUENCES * (LENGTH - 2)]), parts, seed=0)
    lengths = np.full(NUM_SEQUENCES, LENGTH - 2)
    table = BlockTable(starts=np.cumsum(lengths) - lengths, lengths=lengths, num_special=2)
    rows = np.arange(NUM_SEQUENCES)
    return lambda epoch: collator.batch(collator.masked(table, rows, epoch)).counts["span_selection"]


def peer(tokenizer, vocabulary: Vocabulary, text_ids: np.ndarray, whole_words: bool):
    from transformers import DataCollatorForLanguageModeling

    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, whole_word_mask=whole_words)
    examples = []
    for row in text_ids.reshape(NUM_SEQUENCES, -1):
        ids = [tokenizer.cls_token_id, *row.tolist(), tokenizer.sep_token_id]
        # specials and offsets are given, as a prepared data set has them: the peer need not look for them
        example = {"input_ids": ids, "special_tokens_mask": [1, *[0] * (LENGTH - 2), 1]}
        if whole_words:
            place = 3 * np.arange(LENGTH - 2) + np.cumsum(vocabulary.starts_word[row])  # a blank before each word
            example["offset_mapping"] = [(0, 0), *zip(place.tolist(), (place + 3).tolist(), strict=True), (0, 0)]
        examples.append(example)
    return lambda epoch: int((collator([dict(example) for example in examples])["labels"] != -100).sum())


def seconds_of(calls: dict[str, Callable[[int], int]], rounds: int, limit: float | None) -> dict[str, list[float]]:
    """Time every call in turns: a turn is REPEATS calls and its time their median, so that each finds its own data
    warm; one turn each comes first and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in rounds_within(rounds, limit, warm=1):
        for name, call in calls.items():
            times = []
            for repeat in range(REPEATS):
                begin = time.perf_counter()
                call((turn + 1) * REPEATS + repeat)
                times.append(time.perf_counter() - begin)
            if turn >= 0:
                seconds[name].append(float(np.median(times)))
    return seconds


def row_of(name: str, tokens: int, seconds: dict[str, list[float]], mine: str, versus: str, goal: float | None) -> dict:
    """One row; without the peer it has our figure alone."""
    ours = float(np.median(seconds[mine]))
    row = {"name": name, "unit": "tokens/s", "ours": tokens / ours, "goal": goal}
    if versus not in seconds:
        return row | {"peer": None, "ratio": None, "spread": None, "absent": "transformers"}
    theirs = float(np.median(seconds[versus]))
    low, high = np.percentile(seconds[mine], [25, 75])
    return row | {"peer": tokens / theirs, "ratio": theirs / ours, "spread": [theirs / high, theirs / low]}


def measure(rounds: int, limit: float | None = None) -> list[dict]:
    vocabulary = make_vocabulary()
    text_ids = np.random.default_rng(0).integers(5, VOCAB_SIZE, NUM_SEQUENCES * (LENGTH - 2))
    schemes = {
        "span masking": GeometricSpans(),
        "span masking, as released": GeometricSpans(start="tokens", end="budget"),
        "subword masking": SubwordTokens(),
        "whole-word masking": WholeWords(),
    }
    calls = {name: ours(scheme, vocabulary, text_ids) for name, scheme in schemes.items()}
    calls["span masking, from the store to the batch"] = ours(GeometricSpans(), vocabulary, text_ids, True)
    calls["recurring spans as questions, from the store to the batch"] = asking()
    if HAS_PEER:
        tokenizer = make_tokenizer(vocabulary)
        calls["peer"] = peer(tokenizer, vocabulary, text_ids, False)
        calls["peer, whole words"] = peer(tokenizer, vocabulary, text_ids, True)
    seconds = seconds_of(calls, rounds, limit)
    comparisons = [(name, "peer", GOAL) for name in schemes]
    comparisons += [("span masking, from the store to the batch", "peer", None)]
    comparisons += [("recurring spans as questions, from the store to the batch", "peer", None)]
    comparisons += [("whole-word masking", "peer, whole words", None)]
    return [
        row_of(
            name if versus == "peer" else f"{name} against the peer's whole words",
            NUM_SEQUENCES * LENGTH,
            seconds,
            name,
            versus,
            goal,
        )
        for name, versus, goal in comparisons
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="no more rounds than fit into so many seconds, and one at least")
    options = parser.parse_args()
    torch.set_num_threads(1)
    show_rows(measure(options.rounds, options.seconds), as_json=options.json)


if __name__ == "__main__":
    main()
