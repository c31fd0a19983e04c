"""The two pre-trained arms: the same run with and without the Span Boundary Objective."""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_tiny


def mlm_sbo() -> PretrainingRecipe:
    """SpanBERT: span masking, MLM + SBO, single sequences; 2 layers x 128, 30 M tokens."""
    tiny = spanbert_tiny()
    return replace(
        tiny,
        name="wiki-small-mlm-sbo",
        encoder=EncoderConfig(
            num_layers=2, hidden_size=128, num_heads=2, intermediate_size=512, max_positions=512, hidden_dropout=0.0
        ),
        format=SingleSegment(max_length=256),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=4_096),
        training=replace(
            tiny.training,
            optimizer="muon",
            learning_rate=4e-3,
            max_tokens=30_000_000,
            eval_every=1_500,
            save_every=500,
            log_every=50,
            threads=1,
        ),
    )


def mlm() -> PretrainingRecipe:
    """The same run without SBO: span masking alone."""
    return replace(mlm_sbo(), name="wiki-small-mlm", objectives={"mlm": MaskedLM()})
