"""For people who keep the Hugging Face Trainer, accelerate or a loop of their own. `transformers` is never imported."""

from spanwise.integrations.huggingface.collator import SpanMaskingCollator

__all__ = ["SpanMaskingCollator"]
