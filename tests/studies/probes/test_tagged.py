"""Tagging at several sizes: one fine-tuning a size, on cuts that lie inside one another."""

from spanwise.studies.probes import Chunks


def test_a_figure_a_size(context_of):
    probe = Chunks(sizes=(4, 8), least_steps=1, num_epochs=1, learning_rate=1e-2)
    context = context_of(probe)
    found = probe.measure(context)
    assert set(found) == {figure.key for figure in probe.figures} == {"f1_at_4", "f1_at_8"}
    assert sorted(path.name for path in context.out.iterdir()) == ["chunks-4", "chunks-8"]
    assert sorted(path.name for path in context.material.cuts.iterdir()) == ["train-4.txt", "train-8.txt"]
