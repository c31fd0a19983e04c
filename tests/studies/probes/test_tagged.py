"""Chunks and entities are found in the scored part, after training on the other."""

from spanwise.studies.probes import Chunks, Entities


def test_each_probe_trains_and_scores_on_files_of_its_own(context_of):
    for probe, scored in (
        (Chunks(sizes=(6,), least_steps=1, num_epochs=1), "conll2000/test.txt"),
        (Entities(sizes=(6,), least_steps=1, num_epochs=1), "wikiann_en/dev.txt"),
    ):
        context = context_of(probe)
        assert context.material.files["dev"].as_posix().endswith(scored)
        assert set(probe.measure(context)) == {"f1_at_6"}
        assert [figure.key for figure in type(probe)().figures] == ["f1_at_100", "f1_at_1000"]
        assert f"{probe.name}, 1,000 sentences: F1" == type(probe)().figures[1].label
