"""Only the repetition of masks differs."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_only_the_repetition_of_masks_differs():
    first, *others = find_study("static-masking").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"num_maskings"}
