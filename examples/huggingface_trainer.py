"""Train SpanBERT's two losses under the Hugging Face Trainer: `python examples/huggingface_trainer.py TEXT --out DIR`.

TEXT is a file with a paragraph a line. With `--model bert-base-cased` (a folder or hub id) training goes on from that
model; without it a small BERT starts from nothing, with a vocabulary learned from the text. Needs transformers and
accelerate beside spanwise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, Trainer, TrainerCallback, TrainingArguments

from spanwise.integrations.huggingface import SpanBoundaryPretraining, SpanMaskingCollator
from spanwise.text.learn import learn_tokenizer


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = parse(arguments)
    if options.model:
        tokenizer = AutoTokenizer.from_pretrained(options.model)
        model = SpanBoundaryPretraining.from_pretrained(options.model, AutoModel)
    else:
        tokenizer = new_tokenizer(options)
        model = SpanBoundaryPretraining(new_encoder(len(tokenizer), options.max_length))
    train, held_out = read_examples(options.text, tokenizer, options.max_length)

    collator = SpanMaskingCollator(tokenizer)
    trainer = Trainer(
        model=model,
        data_collator=collator,
        train_dataset=train,
        eval_dataset=collator.premask(held_out),  # masked once: the same targets at every evaluation
        callbacks=[NewMasksEachEpoch(collator)],
        args=TrainingArguments(
            output_dir=str(options.out / "trainer"),
            max_steps=options.steps,
            per_device_train_batch_size=options.batch_size,
            learning_rate=options.learning_rate,
            warmup_steps=options.steps // 10,
            weight_decay=0.01,
            logging_steps=max(1, options.steps // 20),
            save_strategy="no",
            report_to="none",
        ),
    )
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
    model.save_pretrained(options.out, tokenizer)
    print(f"held-out loss (MLM + SBO, nats): {before:.3f} before, {after:.3f} after {options.steps} steps")
    print(f"saved: AutoModel.from_pretrained({str(options.out)!r}), spanwise.load({str(options.out)!r}),")
    print(f"       spanwise.pipeline('fill-mask', model={str(options.out)!r}, head='both')")
    return {"before": before, "after": after}


class NewMasksEachEpoch(TrainerCallback):
    """Masks that depend on epoch and example alone, so that a resumed run draws what an unbroken one draws.

    Without it the collator counts its calls, which is as good but for that.
    """

    def __init__(self, collator: SpanMaskingCollator) -> None:
        self.collator = collator

    def on_epoch_begin(self, args, state, control, **_):
        self.collator.set_epoch(int(state.epoch or 0))


def read_examples(path: Path, tokenizer, max_length: int) -> tuple[list[dict], list[dict]]:
    """Paragraphs as ids, long ones in several pieces; every twentieth piece is held out, at least one."""
    paragraphs = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    pieces = tokenizer(paragraphs, truncation=True, max_length=max_length, return_overflowing_tokens=True)["input_ids"]
    examples = [{"input_ids": ids} for ids in pieces]
    if len(examples) < 2:
        raise SystemExit(f"{path} holds {len(examples)} paragraphs; at least two are needed, a paragraph a line.")
    return [example for i, example in enumerate(examples) if i % 20], examples[::20]


def new_tokenizer(options: argparse.Namespace):
    """A WordPiece vocabulary of the text, as AutoTokenizer loads it."""
    learn_tokenizer([options.text], vocab_size=options.vocab_size, out=options.out)
    return AutoTokenizer.from_pretrained(options.out)


def new_encoder(vocab_size: int, max_length: int) -> BertModel:
    """Two layers of 128; no pooler, as nothing would train it."""
    config = BertConfig(
        vocab_size=vocab_size,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=max_length,
    )
    return BertModel(config, add_pooling_layer=False)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="text file, a paragraph a line")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained model")
    parser.add_argument("--model", help="folder or hub id to go on from")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--vocab-size", type=int, default=4000, help="of a new vocabulary")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
