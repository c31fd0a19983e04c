"""A training step of every family against the class of transformers that most people train.

    python benchmarks/families.py [--family NAME]... [--json] [--rounds N] [--threads 2] [--clock cpu]

4 layers x 256, 4 heads, feed-forward 1,024, vocabulary 30,522, 32 paragraphs a step, as in training_step.py: the same
synthetic paragraphs, hidden dropout 0.1 and attention dropout 0 on both sides, AdamW and clipping on both. Sequences
are single paragraphs in the layout of the family (in halves where it has pairs), so both sides see the same tokens; how
a family fills its blocks from documents is left out. Batches are made beforehand.

- ours: the parts of the family's `*-mini` recipe, packed, bf16 where the processor has it, the training loop's own
  update, with AdamW in place of Muon;
- peer: the pre-training class of transformers (`BertForPreTraining`, `RobertaForMaskedLM`, `AlbertForPreTraining`,
  `OpenAIGPTLMHeadModel`; `BertForMaskedLM` for SpanBERT, without SBO; for ELECTRA `ElectraForMaskedLM` and
  `ElectraForPreTraining` with one embedding, joined by Gumbel samples at the hidden places), SDPA where it has it,
  float32, padded to the longest of 32 random paragraphs.

The last row is ours against ours: ALBERT with all layers shared against the same without sharing.
All of it takes some 7 minutes of an idle machine with 2 cores. Speed is in real tokens a second; sides run in processes
of their own, a step of each in turn; ratios are medians of the rounds' ratios, the spread is their middle half.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from interleaved import CLOCKS, memory_row, peak_memory, rate_row, serve, show_rows, take_turns, timing_options
from training_step import FIRST_WORD, LONGEST, SIZES, VOCAB_SIZE, InMemory, batches_of, synthetic_paragraphs

FAMILIES = ("bert", "roberta", "spanbert", "albert", "electra", "gpt1")
PAIRS = {"bert", "albert", "electra"}
SHARING = "albert shared against not shared"
GOAL = 3.0
SIDES = ("ours", "peer")
SIZE = SIZES["4x256"]


def recipe_of(family: str, side: str):
    """The family's small recipe at the benchmark's size, with sequences of single paragraphs."""
    from spanwise import recipes
    from spanwise.pretraining.formats import SingleSegment

    shared = family == SHARING
    recipe = recipes.find("albert-mini" if shared else f"{family}-mini")
    encoder = replace(recipe.encoder, max_positions=LONGEST + 4)
    if shared and side == "peer":
        encoder = replace(encoder, sharing="none")
    pairs = shared or family in PAIRS
    format = replace(recipe.format, max_length=LONGEST + 4) if pairs else SingleSegment(max_length=LONGEST + 2)
    return replace(
        recipe, encoder=encoder, format=format, training=replace(recipe.training, optimizer="adamw", learning_rate=1e-4)
    )


def table_of(lengths: np.ndarray, pairs: bool):
    """Blocks of one paragraph each; pairs have it in halves, with a label by turns."""
    from spanwise.pretraining.formats import BlockTable

    starts = np.cumsum(lengths) - lengths
    if not pairs:
        return BlockTable(starts=starts, lengths=lengths, num_special=2)
    first = (lengths + 1) // 2
    return BlockTable(
        starts=starts,
        lengths=first,
        second_starts=starts + first,
        second_lengths=lengths - first,
        pair_labels=np.arange(len(lengths)) % 2,
        num_special=3,
    )


class Batches:
    """Packs of the real collator, for either side."""

    def __init__(self, recipe, paragraphs: list[np.ndarray], pairs: bool) -> None:
        from spanwise.data.vocabulary import Vocabulary
        from spanwise.pretraining.collate import Collator, PackParts

        ids = np.arange(VOCAB_SIZE)
        vocabulary = Vocabulary(
            size=VOCAB_SIZE,
            **{f"{name}_id": place for place, name in enumerate(("pad", "unk", "cls", "sep", "mask"))},
            is_special=ids < FIRST_WORD,
            starts_word=(ids >= FIRST_WORD) & (ids % 5 != 0),
            unigram_counts=10_000_000 // (1 + ids),
        )
        lengths = np.array([len(row) for row in paragraphs])
        self.table, self.rows = table_of(lengths, pairs), batches_of(lengths, grouped=False)
        parts = PackParts(
            format=recipe.format,
            masking=recipe.masking,
            replacement=recipe.replacement,
            objectives=recipe.objectives,
            corruption=recipe.corruption,
        )
        self.collator = Collator(InMemory(vocabulary, np.concatenate(paragraphs)), parts, seed=0)

    def masked(self, index: int):
        return self.collator.masked(self.table, self.rows[index % len(self.rows)], epoch=0)


class Ours:
    """The real parts: packed batches, the loop's own update."""

    def __init__(self, family: str, side: str, paragraphs: list[np.ndarray]) -> None:
        import torch

        from spanwise.pretraining.system import build_model
        from spanwise.runtime.device import resolve_precision
        from spanwise.training.optim import build_optimizer
        from spanwise.training.step import Updater
        from spanwise.training.timing import SectionTimer

        self.start_memory = peak_memory()
        recipe, device = recipe_of(family, side), torch.device("cpu")
        self.batches = Batches(recipe, paragraphs, family in PAIRS or family == SHARING)
        model = build_model(recipe, VOCAB_SIZE).train()
        self.updater = Updater(
            model=model,
            optimizer=build_optimizer(model, recipe.training),
            device=device,
            precision=resolve_precision("auto", device),
            seed=0,
            max_grad_norm=1.0,
            timer=SectionTimer(device),
        )

    def prepare(self, index: int):
        return self.batches.collator.batch(self.batches.masked(index))

    def step(self, index: int, batch) -> int:
        self.updater.update(index + 1, [batch], 1e-4)
        return batch.num_tokens


class Peer:
    """The class of transformers over the same sequences, padded."""

    def __init__(self, family: str, side: str, paragraphs: list[np.ndarray]) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch

        self.torch, self.family = torch, family
        self.start_memory = peak_memory()
        self.batches = Batches(recipe_of(family, side), paragraphs, family in PAIRS)
        self.models = [model.train() for model in peer_models(family)]
        parameters = {parameter: None for model in self.models for parameter in model.parameters()}
        self.parameters = list(parameters)
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-4, weight_decay=0.01, fused=True)

    def prepare(self, index: int) -> dict[str, Any]:
        masked = self.batches.masked(index)
        pack, borders = masked.pack, masked.pack.borders
        labels = np.full(len(pack.input_ids), -100)
        labels[masked.hidden.position] = masked.hidden.original_ids
        flat = {
            "input_ids": (masked.input_ids, 0),
            "token_type_ids": (pack.token_type_ids, 0),
            "labels": (labels, -100),
        }
        longest = int(np.diff(borders).max())
        batch = {name: padded(values, borders, longest, fill) for name, (values, fill) in flat.items()}
        ones = np.ones(len(pack.input_ids), dtype=np.int64)
        batch["attention_mask"] = padded(ones, borders, longest, 0)
        batch["original_ids"] = padded(pack.input_ids, borders, longest, 0)
        tensors = {name: self.torch.from_numpy(array) for name, array in batch.items()}
        if pack.pair_labels is not None:
            tensors["pair_labels"] = self.torch.from_numpy(pack.pair_labels)
        return tensors

    def step(self, index: int, batch: dict[str, Any]) -> int:
        loss = self.loss(batch)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        loss.item()
        return int(batch["attention_mask"].sum())

    def loss(self, batch: dict[str, Any]):
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        if self.family == "gpt1":
            labels = batch["original_ids"].masked_fill(batch["attention_mask"] == 0, -100)
            return self.models[0](**inputs, labels=labels).loss
        if self.family != "roberta":
            inputs["token_type_ids"] = batch["token_type_ids"]
        if self.family == "electra":
            return self.electra_loss(inputs, batch)
        pair = {"bert": "next_sentence_label", "albert": "sentence_order_label"}.get(self.family)
        more = {pair: batch["pair_labels"]} if pair else {}
        return self.models[0](**inputs, labels=batch["labels"], **more).loss

    def electra_loss(self, inputs: dict[str, Any], batch: dict[str, Any]):
        """Generator, Gumbel samples at the hidden places, discriminator; weights 1 and 50."""
        torch = self.torch
        generator, discriminator = self.models
        guessed = generator(**inputs, labels=batch["labels"])
        with torch.no_grad():
            hidden = batch["labels"] != -100
            scores = guessed.logits[hidden]
            drawn = (scores - torch.empty_like(scores).exponential_().log()).argmax(-1)
            ids = batch["input_ids"].masked_scatter(hidden, drawn)
            original = torch.where(hidden, batch["labels"], batch["input_ids"])
        found = discriminator(**{**inputs, "input_ids": ids}, labels=(ids != original).long())
        return guessed.loss + 50.0 * found.loss


def padded(flat: np.ndarray, borders: np.ndarray, longest: int, fill: int) -> np.ndarray:
    rows = np.full((len(borders) - 1, longest), fill)
    for row, first, last in zip(rows, borders[:-1], borders[1:], strict=True):
        row[: last - first] = flat[first:last]
    return rows


def peer_models(family: str) -> list:
    """The peer's classes at the benchmark's size."""
    import transformers as hf

    size = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": SIZE.hidden_size,
        "num_hidden_layers": SIZE.num_layers,
        "num_attention_heads": SIZE.num_heads,
        "intermediate_size": 4 * SIZE.hidden_size,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": LONGEST + 8,
        "attn_implementation": "sdpa",
    }
    if family == "bert":
        return [hf.BertForPreTraining(hf.BertConfig(**size))]
    if family == "spanbert":
        return [hf.BertForMaskedLM(hf.BertConfig(**size))]
    if family == "roberta":
        return [hf.RobertaForMaskedLM(hf.RobertaConfig(**size, type_vocab_size=1, pad_token_id=0))]
    if family == "albert":
        return [hf.AlbertForPreTraining(hf.AlbertConfig(**size, embedding_size=128))]
    if family == "gpt1":
        config = hf.OpenAIGPTConfig(
            vocab_size=VOCAB_SIZE,
            n_positions=LONGEST + 8,
            n_embd=SIZE.hidden_size,
            n_layer=SIZE.num_layers,
            n_head=SIZE.num_heads,
            attn_pdrop=0.0,
        )
        return [hf.OpenAIGPTLMHeadModel(config)]
    small = size | {"hidden_size": 64, "num_attention_heads": 1, "intermediate_size": 256}
    generator = hf.ElectraForMaskedLM(hf.ElectraConfig(**small, embedding_size=128))
    discriminator = hf.ElectraForPreTraining(hf.ElectraConfig(**size, embedding_size=128))
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.tie_weights()
    return [generator, discriminator]


def make_side(family: str, side: str, data: Path):
    """Build a side in its own process."""
    with np.load(data) as stored:
        paragraphs = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
    return (Ours if side == "ours" or family == SHARING else Peer)(family, side, paragraphs)


def main() -> None:
    parser = timing_options(__doc__, rounds=5)
    parser.add_argument("--family", action="append", choices=[*FAMILIES, SHARING])
    options = parser.parse_args()
    if options.work:
        serve(lambda: make_side(options.family[0], options.work, options.data), CLOCKS[options.clock])
        return
    paragraphs = synthetic_paragraphs()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "paragraphs.npz"
        np.savez(data, ids=np.concatenate(paragraphs), lengths=np.array([len(row) for row in paragraphs]))
        own = [__file__, "--data", str(data), "--clock", options.clock]
        for family in options.family or [*FAMILIES, SHARING]:
            command = [*own, "--family", family, "--work"]
            told = take_turns(
                lambda side, command=command: [*command, side], SIDES, rounds=options.rounds, threads=options.threads
            )
            ours, peer = told["ours"], told["peer"]
            if "absent" not in peer and ours["amounts"] != peer["amounts"]:
                raise SystemExit(f"{family}: both sides read the same text, and counted {told}")
            what = f"training step, {family}"
            own_rows = [rate_row(what, "real tokens/s", ours, peer, 1.0 if family == SHARING else GOAL)]
            own_rows.append(memory_row(f"{what}, peak memory", ours, peer))
            if not options.json:
                show_rows(own_rows, as_json=False)
            rows += own_rows
    if options.json:
        show_rows(rows, as_json=True)


if __name__ == "__main__":
    main()
