"""The arms of these studies differ in what their question asks about, and in nothing else."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_sharing_alone_differs_the_sizes_and_parts_of_albert_are_the_same_in_all_arms():
    first, *others = find_study("albert-sharing").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"encoder.sharing"}


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


def test_only_the_batch_and_with_it_the_rate_differs():
    first, *others = find_study("batch-size").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"batch.tokens_per_step", "training.learning_rate"}
