"""The Korean record's recipe: `spanbert-ko-tiny`, cut to what a quarter of an hour of one thread can read."""

from dataclasses import replace

from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_ko_tiny


def ko_small() -> PretrainingRecipe:
    """SpanBERT over morphemes, MLM + SBO; 2 layers x 128, 6 M tokens, the text seen about once: no dropout."""
    tiny = spanbert_ko_tiny()
    return replace(
        tiny,
        name="ko-small",
        encoder=replace(tiny.encoder, max_positions=512, hidden_dropout=0.0),
        format=SingleSegment(max_length=256),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=4_096),
        training=replace(
            tiny.training,
            learning_rate=4e-3,
            max_tokens=6_000_000,
            eval_every=250,
            save_every=100,
            log_every=25,
            keep=1,
            threads=1,
        ),
    )
