"""Sharing alone differs: the sizes and parts of ALBERT are the same in all arms."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_sharing_alone_differs_the_sizes_and_parts_of_albert_are_the_same_in_all_arms():
    first, *others = find_study("albert-sharing").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"encoder.sharing"}
