"""Folders of tiny models with random weights: fine-tuned ones with the words of the shipped model, and a writer."""

import json
from pathlib import Path

import torch

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.run import finetune
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights import shipped_folder

SHAPE = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 32, "max_positions": 128}
TEXT = "Ada met Bob in Paris."
LABELLED = {
    "relation": [
        {"text": TEXT, "subject": [0, 3], "object": [8, 11], "label": "met"},
        {"text": TEXT, "subject": [8, 11], "object": [0, 3], "label": "met_by"},
    ],
    "classification": [{"text": "What a good day.", "label": "good"}, {"text": "It rained.", "label": "bad"}],
}


def tiny_task(task: str, folder: Path) -> str:
    """Fine-tune a tiny encoder for two steps and return the folder."""
    tokenizer = Tokenizer.load(shipped_folder("spanwise-mini"))
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **SHAPE))
    initialize(encoder, encoder.config, seed=4)
    write_folder(folder / "start", FolderContent(encoder, {}, tokenizer))
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, LABELLED[task])))
    changes = ["training.max_steps=2", "training.precision=fp32", "task.max_length=64"]
    changes += ["task.markers=punct"] if task == "relation" else []
    run = finetune(task, model=folder / "start", train=folder / "train.jsonl", out=folder / "run", overrides=changes)
    return str(run.final)


def tiny_writer(folder: Path, text: Path) -> str:
    """Write GPT-1 in a tiny shape, with a vocabulary learned from a text, and return the folder."""
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    tokenizer = learn_tokenizer(text, vocab_size=250, kind="bpe", min_frequency=1)
    torch.manual_seed(0)
    config = OpenAIGPTConfig(vocab_size=tokenizer.vocab_size, n_positions=40, n_embd=32, n_layer=2, n_head=2)
    OpenAIGPTLMHeadModel(config).save_pretrained(folder)
    tokenizer.save(folder)
    return str(folder)
