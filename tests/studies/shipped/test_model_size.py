"""Only the shape differs, and the rate of the wider ones."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_only_the_shape_differs_and_the_rate_of_the_wider_ones():
    first, *others = find_study("model-size-at-equal-compute").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {
        "encoder.num_layers",
        "encoder.hidden_size",
        "encoder.num_heads",
        "encoder.intermediate_size",
        "training.learning_rate",
    }
