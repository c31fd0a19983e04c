"""Tagging at several sizes: one fine-tuning a size, on cuts that lie inside one another."""

from spanwise.studies.probes import Chunks
from spanwise.studies.probes.tagged import tagging_figures, tagging_scores


def test_a_figure_a_size(context_of):
    probe = Chunks(sizes=(4, 8))
    context = context_of(probe)
    found = tagging_scores(context, "tags", (4, 8), least_steps=1, num_epochs=1, learning_rate=1e-2)
    assert set(found) == {figure.key for figure in tagging_figures("tags", (4, 8))} == {"f1_at_4", "f1_at_8"}
    assert sorted(path.name for path in context.out.iterdir()) == ["tags-4", "tags-8"]
    assert sorted(path.name for path in context.material.cuts.iterdir()) == ["train-4.txt", "train-8.txt"]
