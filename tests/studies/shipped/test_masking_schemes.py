"""The arms differ in what is hidden; spans are replaced as wholes."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_the_arms_differ_in_what_is_hidden_spans_are_replaced_as_wholes():
    first, *others = find_study("masking-schemes-with-phrases").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"masking", "replacement.unit"}
