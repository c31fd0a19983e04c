"""The arms are the rows of the table: pairs with NSP, single sequences, and SBO."""

from spanwise.studies.catalogue import find_study
from spanwise.studies.study import arm_difference


def test_the_arms_are_the_rows_of_the_table_pairs_with_nsp_single_sequences_and_sbo():
    first, *others = find_study("objectives").arms.values()
    paths = {path for other in others for path, _, _ in arm_difference(first, other)}
    assert paths == {"format", "encoder.pooler", "objectives.nsp", "objectives.sbo"}
