"""The README.md of a model folder, in the form that model hubs read."""

from __future__ import annotations

from pathlib import Path

from spanwise.nn.config import EncoderConfig

PIPELINE_TAGS = {"BertForQuestionAnswering": "question-answering", "BertForMaskedLM": "fill-mask"}
HEAD_NAMES = {
    "mlm": "masked language model",
    "sbo": "span boundary objective",
    "nsp": "next sentence",
    "qa": "extractive question answering",
}
AUTO_CLASSES = {
    "BertForQuestionAnswering": "AutoModelForQuestionAnswering",
    "BertForPreTraining": "AutoModelForPreTraining",
    "BertForMaskedLM": "AutoModelForMaskedLM",
    "BertModel": "AutoModel",
}


def write_model_card(
    path: Path, config: EncoderConfig, architecture: str, heads: list[str], *, has_tokenizer: bool
) -> None:
    """Write a card that says what the folder holds and how to load it. It claims nothing about quality."""
    from huggingface_hub import ModelCard, ModelCardData  # heavy, and only saving needs it

    data = ModelCardData(
        library_name="transformers",
        tags=["spanwise", "bert", *(["spanbert"] if "sbo" in heads else [])],
        pipeline_tag=PIPELINE_TAGS.get(architecture),
    )
    shape = (
        f"{config.num_layers} layers, hidden size {config.hidden_size}, {config.num_heads} heads, "
        f"vocabulary {config.vocab_size}, at most {config.max_positions} tokens"
    )
    named = ", ".join(HEAD_NAMES.get(head, head) for head in heads) or "none"
    auto = AUTO_CLASSES[architecture]
    tokenizer = "" if has_tokenizer else "\nThe folder holds no tokenizer.\n"
    content = f"""---
{data.to_yaml()}
---

# {architecture} made with spanwise

A BERT-type encoder ({shape}). Heads: {named}.
{tokenizer}
```python
import spanwise

model = spanwise.load("path/to/this/folder")
```

```python
from transformers import {auto}

model = {auto}.from_pretrained("path/to/this/folder")
```

`heads.safetensors`, where present, keeps heads that `{architecture}` has no name for; spanwise reads them back.
"""
    ModelCard(content).save(path)
