"""Chunks are found in the test part, after training on the training part."""

from spanwise.studies.probes import Chunks


def test_chunks_are_scored_at_each_size(context_of):
    probe = Chunks(sizes=(6,), least_steps=1, num_epochs=1)
    context = context_of(probe)
    assert context.material.files["dev"].name == "test.txt"
    assert set(probe.measure(context)) == {"f1_at_6"}
    assert [figure.key for figure in Chunks().figures] == ["f1_at_100", "f1_at_1000"]
