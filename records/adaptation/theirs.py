"""The ways of transformers: run_mlm.py's with text; run_qa.py's, run_ner.py's and run_glue.py's with labels."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from domains import questions_of, rows_of, sentences_of
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from spanwise.runtime.files import atomic_folder

BATCH = 16
MLM_RATE, MLM_LENGTH, MLM_SHARE = 5e-5, 256, 0.15  # the first and the last are run_mlm.py's own
MAX_LENGTH, MAX_ANSWER, NUM_BEST = 384, 30, 20  # those of run_qa.py


def run_mlm(start: str, text: Path, seconds: float, target: Path) -> None:
    """Go on as run_mlm.py does: lines end to end, cut into blocks; 15 % of the tokens; AdamW, a rate that falls."""
    torch.manual_seed(0)
    tokenizer, model = AutoTokenizer.from_pretrained(start), AutoModelForMaskedLM.from_pretrained(start)
    device = model.to(best_device()).train().device
    length = min(MLM_LENGTH, tokenizer.model_max_length)
    lines = [line for line in text.read_text(encoding="utf-8").splitlines() if line.strip()]
    ids = list(itertools.chain.from_iterable(tokenizer(lines, truncation=True, max_length=length)["input_ids"]))
    blocks = [ids[first : first + length] for first in range(0, max(1, len(ids) - length + 1), length)]
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=MLM_SHARE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=MLM_RATE, weight_decay=0.0)
    began, step = time.monotonic(), 0
    for rows in batches(len(blocks), 0):
        used = (time.monotonic() - began) / seconds
        if used >= 1:
            break
        batch = collate([{"input_ids": blocks[row]} for row in rows]).to(device)
        update(model, optimizer, dict(batch), MLM_RATE * (1 - used))
        step += 1
    print(f"run_mlm: {step:,} steps on {len(ids):,} tokens in {time.monotonic() - began:.0f} s")
    with atomic_folder(target) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def best_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def batches(count: int, seed: int) -> Iterator[list[int]]:
    """Give rows by batches without end, in a new order every epoch."""
    draw = random.Random(seed)
    while True:
        order = draw.sample(range(count), count)
        yield from (order[first : first + BATCH] for first in range(0, count, BATCH))


def update(model: PreTrainedModel, optimizer: torch.optim.Optimizer, batch: dict, rate: float) -> None:
    """One step at a rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=model.device.type == "cuda"):
        loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


Files = dict[str, Path]


def learn(task: str, start: str, train: Path, files: Files, steps: int, rate: float, seed: int) -> dict[str, str]:
    """Learn by a plain loop as in the examples of transformers; return the predictions for each file, as written."""
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(start)
    side = SIDES[task](tokenizer)
    features = side.features(train)
    model = side.model(start).to(best_device()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    for step, rows in zip(range(steps), batches(len(features), seed), strict=False):
        batch = padded([features[row] for row in rows], tokenizer, model)
        update(model, optimizer, batch, rate * (1 - step / steps))
    model.eval()
    return {name: side.predictions(file, model) for name, file in files.items()}


def padded(rows: Sequence[dict[str, list[int]]], tokenizer: PreTrainedTokenizerFast, model: PreTrainedModel) -> dict:
    """Return rows of numbers as tensors on the model's device; labels of padding count for nothing."""
    fill = {"input_ids": tokenizer.pad_token_id, "labels": -100}
    longest = max(len(row["input_ids"]) for row in rows)
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if isinstance(values[0], list):
            values = [value + [fill.get(name, 0)] * (longest - len(value)) for value in values]
        columns[name] = torch.tensor(values, device=model.device)
    return columns


def inputs_of(encoding: dict, row: int) -> dict[str, list[int]]:
    """Return what a model reads of a window."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: list(encoding[name][row]) for name in names if name in encoding}


class Questions:
    """Questions in windows, with labels and answers as run_qa.py makes them."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.length = min(MAX_LENGTH, tokenizer.model_max_length)

    def model(self, start: str) -> PreTrainedModel:
        return AutoModelForQuestionAnswering.from_pretrained(start)

    def windows(self, asked: Sequence[tuple[dict, str]]):
        """Return the windows of all questions, each with the number of its question."""
        return self.tokenizer(
            [question["question"].lstrip() for question, _ in asked],
            [passage for _, passage in asked],
            truncation="only_second",
            max_length=self.length,
            stride=self.length // 3,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )

    def features(self, path: Path) -> list[dict]:
        """Return the windows of a labelled file; one without the answer points at its first token."""
        asked = list(questions_of(json.loads(path.read_text(encoding="utf-8"))["data"]))
        found, rows = self.windows(asked), []
        for row, number in enumerate(found["overflow_to_sample_mapping"]):
            answer = asked[number][0]["answers"][0]
            first, last = answer["answer_start"], answer["answer_start"] + len(answer["text"])
            inside = [
                place
                for place, (kind, (start, end)) in enumerate(
                    zip(found.sequence_ids(row), found["offset_mapping"][row], strict=True)
                )
                if kind == 1 and start < last and end > first
            ]
            offsets = found["offset_mapping"][row]
            is_whole = bool(inside) and offsets[inside[0]][0] <= first and offsets[inside[-1]][1] >= last
            start, end = (inside[0], inside[-1]) if is_whole else (0, 0)
            rows.append({**inputs_of(found, row), "start_positions": start, "end_positions": end})
        return rows

    @torch.no_grad()
    def predictions(self, path: Path, model: PreTrainedModel) -> str:
        """Return the answers of a file: of each question the span with the highest sum over its windows."""
        asked = list(questions_of(json.loads(path.read_text(encoding="utf-8"))["data"]))
        found = self.windows(asked)
        best = {question["id"]: (-float("inf"), "") for question, _ in asked}
        numbers = found["overflow_to_sample_mapping"]
        for first in range(0, len(numbers), BATCH):
            rows = range(first, min(first + BATCH, len(numbers)))
            output = model(**padded([inputs_of(found, row) for row in rows], self.tokenizer, model))
            for place, row in enumerate(rows):
                question, passage = asked[numbers[row]]
                offsets = [
                    pair if kind == 1 else None
                    for kind, pair in zip(found.sequence_ids(row), found["offset_mapping"][row], strict=True)
                ]
                score, text = best_span(output.start_logits[place], output.end_logits[place], offsets, passage)
                best[question["id"]] = max(best[question["id"]], (score, text))
        return json.dumps({name: text for name, (_, text) in best.items()})


def best_span(starts: torch.Tensor, ends: torch.Tensor, offsets: Sequence, passage: str) -> tuple[float, str]:
    """Return the best answer of a window and its score, among the likeliest starts and ends."""
    size = len(offsets)
    tops = [scores[:size].topk(min(NUM_BEST, size)) for scores in (starts, ends)]
    best = (-float("inf"), "")
    for (s, start), (e, end) in itertools.product(*(zip(*map(torch.Tensor.tolist, top), strict=True) for top in tops)):
        if start <= end < start + MAX_ANSWER and offsets[start] and offsets[end]:
            best = max(best, (s + e, passage[offsets[start][0] : offsets[end][1]]))
    return best


class Labelled:
    """What tells labels by their names, known once the training file is read."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.length = min(MAX_LENGTH, tokenizer.model_max_length)
        self.labels: list[str] = []


class Tags(Labelled):
    """Sentences in words, a label at the first piece of each, as run_ner.py makes them."""

    def model(self, start: str) -> PreTrainedModel:
        return AutoModelForTokenClassification.from_pretrained(start, num_labels=len(self.labels))

    def read(self, path: Path):
        """Return words and tags of each sentence, and the words as the tokenizer reads them."""
        sentences = [[line.split("\t") for line in one] for one in sentences_of(path.read_text(encoding="utf-8"))]
        words = [[word for word, *_ in sentence] for sentence in sentences]
        return sentences, self.tokenizer(words, is_split_into_words=True, truncation=True, max_length=self.length)

    def first_pieces(self, found, row: int) -> list[int | None]:
        """Return for each token the word that it begins; None for all others."""
        numbers = found.word_ids(row)
        before = [None, *numbers[:-1]]
        return [word if word != last else None for word, last in zip(numbers, before, strict=True)]

    def features(self, path: Path) -> list[dict]:
        sentences, found = self.read(path)
        self.labels = sorted({line[-1] for sentence in sentences for line in sentence})
        ids = {label: number for number, label in enumerate(self.labels)}
        return [
            {
                **inputs_of(found, row),
                "labels": [-100 if word is None else ids[sentence[word][-1]] for word in self.first_pieces(found, row)],
            }
            for row, sentence in enumerate(sentences)
        ]

    @torch.no_grad()
    def predictions(self, path: Path, model: PreTrainedModel) -> str:
        """Return a word and its tag per line; words beyond the last position are outside of all."""
        sentences, found = self.read(path)
        lines: list[str] = []
        for first in range(0, len(sentences), BATCH):
            rows = range(first, min(first + BATCH, len(sentences)))
            best = model(**padded([inputs_of(found, row) for row in rows], self.tokenizer, model)).logits.argmax(-1)
            for place, row in enumerate(rows):
                tags = ["O"] * len(sentences[row])
                for token, word in enumerate(self.first_pieces(found, row)):
                    if word is not None:
                        tags[word] = self.labels[int(best[place, token])]
                lines += [f"{line[0]}\t{tag}" for line, tag in zip(sentences[row], tags, strict=True)] + [""]
        return "\n".join(lines) + "\n"


class Classes(Labelled):
    """Texts and their class, as run_glue.py reads them."""

    def model(self, start: str) -> PreTrainedModel:
        return AutoModelForSequenceClassification.from_pretrained(start, num_labels=len(self.labels))

    def features(self, path: Path) -> list[dict]:
        texts, labels = zip(*rows_of(path.read_text(encoding="utf-8")), strict=True)
        self.labels = sorted(set(labels))
        found = self.tokenizer(list(texts), truncation=True, max_length=self.length)
        return [{**inputs_of(found, row), "labels": self.labels.index(label)} for row, label in enumerate(labels)]

    @torch.no_grad()
    def predictions(self, path: Path, model: PreTrainedModel) -> str:
        """Return a line for each text: its number and its class."""
        texts = [text for text, _ in rows_of(path.read_text(encoding="utf-8"))]
        found = self.tokenizer(texts, truncation=True, max_length=self.length)
        lines = ["index\tprediction"]
        for first in range(0, len(texts), BATCH):
            rows = range(first, min(first + BATCH, len(texts)))
            best = model(**padded([inputs_of(found, row) for row in rows], self.tokenizer, model)).logits.argmax(-1)
            lines += [f"{row}\t{self.labels[label]}" for row, label in zip(rows, best.tolist(), strict=True)]
        return "\n".join(lines) + "\n"


SIDES = {"qa": Questions, "tagging": Tags, "classification": Classes}
"""What reads, holds and tells each task."""
