"""What the probes of tagged sentences have in common: fine-tune on so many sentences, and score spans."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.studies.probes.base import Context, Figure, Figures
from spanwise.studies.probes.cuts import cut_sentences
from spanwise.studies.probes.finetuned import finetuned_scores

BATCH = 16


def tagging_figures(title: str, sizes: Sequence[int]) -> tuple[Figure, ...]:
    """F1 at every size."""
    return tuple(
        Figure(key=f"f1_at_{size}", label=f"{title}, {size:,} sentences: F1", unit="%", better="higher")
        for size in sizes
    )


def tagging_scores(
    context: Context, name: str, sizes: Sequence[int], *, least_steps: int, num_epochs: int, learning_rate: float | None
) -> Figures:
    """F1 of spans on the development file after fine-tuning on each size of the training file."""
    files, cuts = context.material.files, context.material.cuts
    found: Figures = {}
    for size in sizes:
        epochs = max(num_epochs, round(least_steps * BATCH / size))
        scores = finetuned_scores(
            context,
            f"{name}-{size}",
            "tagging",
            train=cut_sentences(files["train"], size, cuts),
            dev=files["dev"],
            learning_rate=learning_rate,
            overrides=[
                f"task.max_length={context.material.max_length}",
                f"training.num_epochs={epochs}",
                f"batch_size={BATCH}",
            ],
        )
        found[f"f1_at_{size}"] = scores["f1"]
    return found
