"""The arms of these studies differ in what their question asks about, and in nothing else."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_the_arms_are_the_rows_of_the_table_pairs_with_nsp_single_sequences_and_sbo():
    first, *others = find_study("objectives").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"format", "encoder.pooler", "objectives.nsp", "objectives.sbo"}


def test_the_arms_differ_in_the_objective_and_in_what_stands_in_hidden_places():
    first, *others = find_study("electra").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {
        "corruption",
        "objectives.mlm",
        "objectives.rtd",
        "replacement.mask",
        "replacement.random",
        "replacement.keep",
    }


def test_the_arms_differ_in_the_format_and_in_nsp_with_its_pooler():
    first, *others = find_study("input-formats").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"format", "format.sentences", "encoder.pooler", "objectives.nsp"}
