"""Tensors that several processes wrote are read as one, by whoever keeps which rows."""

import pytest
import torch
from safetensors.torch import save_file

from spanwise.errors import CheckpointError
from spanwise.training.parts import SavedTensors, part_name

WHOLE = torch.arange(20.0).view(10, 2)


@pytest.fixture
def three(tmp_path):
    """Ten rows by three processes, four each but for the last; what all have by the first alone."""
    for part, rows in enumerate(WHOLE.split(4)):
        more = {"step": torch.tensor(7.0), "bias": torch.ones(3)} if part == 0 else {}
        save_file({"matrix": rows.clone(), **more}, tmp_path / part_name(part, 3))
    return tmp_path


@pytest.mark.parametrize("num_readers", [1, 2, 3, 4, 7])
def test_any_number_of_readers_gets_its_rows(three, num_readers):
    saved, rows = SavedTensors(three), -(-10 // num_readers)
    found = [saved.rows("matrix", first, min(rows, 10 - first)) for first in range(0, 10, rows)]

    assert torch.equal(torch.cat(found), WHOLE)
    assert torch.equal(saved.rows("matrix"), WHOLE)


def test_what_all_have_is_read_from_the_first_and_no_rows_have_a_type(three):
    saved = SavedTensors(three)

    assert saved.names == {"matrix", "step", "bias"}
    assert saved.rows("step").item() == 7.0 and saved.shape("step") == ()
    assert saved.shape("matrix") == (10, 2) and saved.rows("bias").tolist() == [1.0, 1.0, 1.0]
    assert saved.rows("matrix", 10, 0).shape == saved.rows("matrix", 0, 0).shape == (0, 2)


def test_one_file_is_read_as_before(tmp_path):
    save_file({"matrix": WHOLE}, tmp_path / part_name(0, 1))

    assert torch.equal(SavedTensors(tmp_path).rows("matrix", 3, 2), WHOLE[3:5])


@pytest.mark.parametrize("change", ["remove", "cut", "empty"])
def test_a_part_that_is_missing_or_cut_is_named(three, change):
    path = three / part_name(1, 3)
    if change == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    for name in [path] if change == "remove" else [*three.iterdir()] if change == "empty" else []:
        name.unlink()

    with pytest.raises(CheckpointError, match=path.name if change == "cut" else "lacks files of tensors"):
        SavedTensors(three)
