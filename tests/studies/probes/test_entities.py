"""Entities are found in the development part, after training on the training part."""

from spanwise.studies.probes import Entities


def test_entities_are_scored_at_each_size(context_of):
    probe = Entities(sizes=(6,), least_steps=1, num_epochs=1)
    context = context_of(probe)
    assert context.material.files["dev"].parent.name == "wikiann_en"
    assert set(probe.measure(context)) == {"f1_at_6"}
