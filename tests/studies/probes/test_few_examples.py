"""Training sets of several sizes: one fine-tuning per size, on cuts that lie inside one another."""

from spanwise.config import to_record
from spanwise.studies.probes import Chunks, Questions


def test_every_size_has_a_figure_and_a_cut_of_its_own(context_of):
    probe = Chunks(sizes=(4, 8), least_steps=1, num_epochs=1, learning_rate=1e-2)
    context = context_of(probe)
    found = probe.measure(context)
    assert set(found) == {figure.key for figure in probe.figures} == {"f1_at_4", "f1_at_8"}
    assert sorted(path.name for path in context.out.iterdir()) == ["chunks-4", "chunks-8"]
    assert sorted(path.name for path in context.material.cuts.iterdir()) == ["train-4.txt", "train-8.txt"]


def test_small_sets_are_read_until_enough_steps_are_done():
    probe = Questions()
    assert probe.epochs_of(128) == 30 and probe.epochs_of(1_024) == 4 and probe.epochs_of(None) == 3


def test_the_record_of_a_probe_is_that_of_studies_begun_before():
    usual = {"part": "chunks_probe", "sizes": [100, 1000], "least_steps": 150, "num_epochs": 5, "learning_rate": None}
    assert to_record(Chunks()) == usual
    assert to_record(Questions()) == {
        "part": "questions_probe",
        "sizes": [128, 1024, None],
        "least_steps": 120,
        "num_epochs": 3,
        "max_dev_questions": None,
        "learning_rate": None,
    }
