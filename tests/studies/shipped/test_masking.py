"""The arms of these studies differ in what their question asks about, and in nothing else."""

from itertools import pairwise

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference, check_study


def test_the_arms_differ_in_what_is_hidden_spans_are_replaced_as_wholes():
    first, *others = find_study("masking-schemes-with-phrases").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"masking", "replacement.unit"}


def test_only_the_share_of_hidden_tokens_differs():
    first, *others = find_study("masking-rate").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"masking.ratio"}


def test_only_the_repetition_of_masks_differs():
    first, *others = find_study("static-masking").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"num_maskings"}


def changed(first, second) -> set[str]:
    return {path for path, _, _ in arm_difference(first, second)}


def test_arms_differ_in_masking_and_in_the_objective():
    study = find_study("spans")
    check_study(study)
    pieces, spans, spans_sbo, mixed, mixed_sbo = study.arms.values()
    assert changed(pieces, spans) == {"masking", "replacement.unit"}
    assert changed(spans, mixed) == changed(spans_sbo, mixed_sbo) == {"masking"}
    assert changed(spans, spans_sbo) == changed(mixed, mixed_sbo) == {"objectives.sbo"}
    assert {pieces.masking.ratio, spans.masking.ratio, *(one.ratio for one in mixed.masking.schemes.values())} == {0.3}
    assert all(arm.name == name for name, arm in study.arms.items())
    assert all(first.initial == second.initial for first, second in pairwise(study.arms.values()))
