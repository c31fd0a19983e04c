"""What is common to all tasks: rows cut by sequence, numbers to log."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.nn.sequences import Sequences
from spanwise.tasks.base import check_known, numbers_of, per_sequence


def test_rows_of_a_pack_are_cut_by_sequence_and_those_of_the_filler_are_left_out():
    ids = torch.zeros(6, dtype=torch.int64)
    batch = Batch(input_ids=ids, token_type_ids=ids, sequences=Sequences.from_lengths([2, 3, 1]), ids=(7, 8, 9))
    rows = torch.arange(12).reshape(6, 2)
    whole = per_sequence(rows, batch)
    assert [part.tolist() for part in whole] == [rows[:2].tolist(), rows[2:5].tolist(), rows[5:].tolist()]
    assert all(part.dtype == np.float32 for part in whole)
    assert len(per_sequence(rows, dataclasses.replace(batch, ids=(7, 8), num_padding=1))) == 2


def test_numbers_to_log_are_those_of_the_first_level_and_the_f1_of_the_second():
    scores = {"mean": 3, "muc": {"recall": 1.0, "f1": 2.0}, "other": {"recall": 1.0}}
    assert numbers_of(scores) == {"mean": 3.0, "muc_f1": 2.0}


def test_predictions_for_examples_that_a_file_does_not_have_are_refused():
    check_known({"a": 1}, ["a", "b"], Path("p.json"), Path("d.tsv"))
    with pytest.raises(DataError, match=r"p\.json: 2 predictions are for examples that d\.tsv does not have.*'x'"):
        check_known({"a": 1, "y": 2, "x": 3}, ["a"], Path("p.json"), Path("d.tsv"))
