"""Only the batch, and with it the rate, differs."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_only_the_batch_and_with_it_the_rate_differs():
    first, *others = find_study("batch-size").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"batch.tokens_per_step", "training.learning_rate"}
