"""For people who keep the Hugging Face Trainer, accelerate or a loop of their own. `transformers` is never imported."""

from spanwise.integrations.huggingface.collator import SpanMaskingCollator
from spanwise.integrations.huggingface.heads import SpanBoundaryHead
from spanwise.integrations.huggingface.pretraining import SpanBoundaryOutput, SpanBoundaryPretraining
