"""The arms differ in what is hidden and in SBO, and in nothing else."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference, check_study


def test_pieces_and_spans_differ_in_masking_and_spans_and_sbo_in_the_objective():
    study = find_study("spans")
    check_study(study)
    pieces, spans, sbo = study.arms.values()
    assert {path for path, _, _ in arm_difference(pieces, spans)} == {"masking", "replacement.unit"}
    assert {path for path, _, _ in arm_difference(spans, sbo)} == {"objectives.sbo"}
    assert pieces.masking.ratio == spans.masking.ratio
