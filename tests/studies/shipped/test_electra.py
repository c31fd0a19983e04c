"""The arms differ in the objective and in what stands in hidden places."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_the_arms_differ_in_the_objective_and_in_what_stands_in_hidden_places():
    first, *others = find_study("electra").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {
        "corruption",
        "objectives.mlm",
        "objectives.rtd",
        "replacement.mask",
        "replacement.random",
        "replacement.keep",
    }
