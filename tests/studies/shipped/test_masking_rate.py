"""Only the share of hidden tokens differs."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_only_the_share_of_hidden_tokens_differs():
    first, *others = find_study("masking-rate").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"masking.ratio"}
