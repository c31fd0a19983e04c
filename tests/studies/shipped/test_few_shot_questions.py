"""Five arms of equal time; only the last begins with another."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import check_study


def test_the_arms_are_those_of_the_question_and_the_second_phase_is_half_of_its_time():
    study = find_study("few-shot-questions")
    check_study(study)
    objectives = {arm: set(recipe.objectives) for arm, recipe in study.arms.items()}
    assert objectives == {
        "mlm": {"mlm"},
        "mlm-sbo": {"mlm", "sbo"},
        "selection": {"span_selection"},
        "all-mixed": {"mlm", "sbo", "span_selection"},
        "mlm-sbo-then-selection": {"span_selection"},
    }
    assert set(study.first) == {"mlm-sbo-then-selection"} and study.first["mlm-sbo-then-selection"].share == 0.5
    assert study.first["mlm-sbo-then-selection"].recipe == study.arms["mlm-sbo"]
    assert study.seconds and study.control == "random weights"
    questions, coreference = study.found_probes
    assert questions.sizes == (16, 128, 1_024, None) and questions.num_kept_aside == 2_000
    assert coreference.name == "coreference"


def test_its_whole_is_thirty_hours_of_two_cores_at_most():
    """Five arms, five seeds; 40 minutes of one core for the probes of each of 30 models."""
    seconds = 25 * find_study("few-shot-questions").seconds + 30 * 40 * 60
    assert seconds / 2 / 3_600 < 30
