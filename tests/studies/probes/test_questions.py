"""Questions at several sizes: small sets are read more often, and every size has its figures."""

from spanwise.studies.probes import Questions


def test_every_size_has_f1_and_exact(context_of):
    probe = Questions(sizes=(4, None), least_steps=1, num_epochs=1)
    found = probe.measure(context_of(probe))
    assert set(found) == {figure.key for figure in probe.figures} == {
        "f1_at_4", "exact_at_4", "f1_at_all", "exact_at_all"
    }  # fmt: skip
    assert all(0 <= value <= 100 for value in found.values())


def test_the_usual_sizes_are_those_of_the_few_shot_papers():
    assert [figure.key for figure in Questions().figures if figure.main] == ["f1_at_128", "f1_at_1024", "f1_at_all"]
