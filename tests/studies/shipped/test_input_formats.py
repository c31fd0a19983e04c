"""The arms differ in the format, and in NSP with its pooler."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_the_arms_differ_in_the_format_and_in_nsp_with_its_pooler():
    first, *others = find_study("input-formats").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"format", "format.sentences", "encoder.pooler", "objectives.nsp"}
