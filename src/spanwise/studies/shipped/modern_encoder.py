"""Does an encoder of today learn more than BERT's in the same time on two cores? SpanBERT's masking and objectives."""

from dataclasses import replace

from spanwise.recipes import spanbert_nano
from spanwise.recipes.one_machine import on_modern_encoder
from spanwise.studies.probes import Chunks, Questions
from spanwise.studies.study import Study

SECONDS = 1_500.0  # as long as spanbert-nano trains


def modern_encoder() -> Study:
    """BERT's post-norm encoder and ModernBERT's, of the size of spanbert-nano, at equal wall-clock time."""
    nano = spanbert_nano()
    post_norm = replace(nano, training=replace(nano.training, budget=None))
    same_size = replace(nano.encoder, intermediate_size=672)  # two thirds: a gate has a third matrix
    return Study(
        name="modern-encoder",
        question="At equal training time, does ModernBERT's encoder learn more than BERT's?",
        arms={
            "post-norm": post_norm,
            "modern": on_modern_encoder(post_norm, "spanbert-nano-modern", same_size),
        },
        seconds=SECONDS,
        probes=("masked-tokens", Chunks(sizes=(100,)), Questions(sizes=(1_024,), max_dev_questions=2_000)),
        notes=(
            "The modern arm has pre-norm with a final norm, rotary positions, GeGLU, no biases, and a second layer "
            "that sees 64 tokens to each side.",
            "Its feed-forward networks are two thirds as wide, so that the layers have as many weights.",
        ),
    )
