"""Changes of an encoder: whole, or as factors."""

import pytest
import torch
from safetensors.torch import save_file

from spanwise.errors import CheckpointError
from spanwise.interop.combined.changes import Changes, changes_between, factors, read_changes


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_factors_are_as_near_as_any_of_their_rank_and_exact_where_the_rank_is_enough():
    matrix = numbers(24, 16)
    scales = torch.linalg.svdvals(matrix)
    for rank in (1, 4, 12):
        up, down = factors(matrix, rank)
        assert up.shape == (24, rank) and down.shape == (rank, 16)
        assert (matrix - up @ down).square().sum() == pytest.approx(float(scales[rank:].square().sum()), rel=1e-4)
    low = numbers(24, 3) @ numbers(3, 16, seed=1)
    up, down = factors(low, 3)
    assert torch.allclose(up @ down, low, atol=1e-5)


def test_what_is_the_same_is_not_stored_vectors_are_whole_and_matrices_are_factors_where_they_are_smaller():
    base = {"same": numbers(8, 8), "wide": numbers(32, 8), "small": numbers(3, 3), "bias": numbers(8)}
    tuned = {name: tensor if name == "same" else tensor + 1.5 for name, tensor in base.items()} | {"new": numbers(4, 4)}
    found = changes_between(base, tuned, {"qa": {"out.weight": numbers(2, 8)}}, 2, torch.float32)
    assert found.up.keys() == found.down.keys() == {"wide"} and found.whole.keys() == {"small", "bias", "new"}
    assert found.kept_share == pytest.approx(1.0)  # adding one number everywhere is of rank 1
    whole = changes_between(base, tuned, {}, None, torch.float32)
    assert not whole.up and whole.kept_share is None
    again = whole.applied(base, "file")
    assert again.keys() == tuned.keys() and all(torch.equal(again[name], tuned[name]) for name in tuned)


def test_the_difference_is_to_the_base_as_it_is_stored_so_rounding_is_part_of_it():
    base = {"w": numbers(16, 16).bfloat16().float()}
    tuned = {"w": base["w"] + 0.01 * numbers(16, 16, seed=1)}
    whole = changes_between(base, tuned, {}, None, torch.bfloat16)
    assert torch.equal(whole.applied(base, "file")["w"], tuned["w"].bfloat16().float())
    shares = [changes_between(base, tuned, {}, rank, torch.bfloat16).kept_share for rank in (1, 2, 4, 7)]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] < 1
    equal_once_rounded = {"w": base["w"] * (1 + 1e-4)}
    assert not changes_between(base, equal_once_rounded, {}, 2, torch.bfloat16).whole


def test_a_file_says_all_of_it(tmp_path):
    base, tuned = {"a": numbers(16, 16), "b": numbers(4)}, {"a": numbers(16, 16, seed=2), "b": numbers(4, seed=3)}
    written = changes_between(base, tuned, {"qa": {"out.bias": numbers(2)}}, 3, torch.float32)
    written.write(tmp_path / "changes.safetensors")
    again = read_changes(tmp_path / "changes.safetensors")
    assert torch.equal(again.heads["qa"]["out.bias"], written.heads["qa"]["out.bias"])
    one, two = written.applied(base, "file"), again.applied(base, "file")
    assert all(torch.equal(one[name], two[name]) for name in base)


@pytest.mark.parametrize("tensors", [{"other.a": numbers(2)}, {"whole.a": torch.tensor([float("nan")])}])
def test_a_tensor_of_no_kind_or_without_numbers_is_refused(tensors, tmp_path):
    save_file(tensors, tmp_path / "changes.safetensors")
    with pytest.raises(CheckpointError, match=f"tensor '{next(iter(tensors))}'"):
        read_changes(tmp_path / "changes.safetensors")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (Changes(whole={"a": numbers(3, 4)}), r"'whole.a' has shape \[3, 4\], which does not go with \[4, 4\]"),
        (Changes(up={"a": numbers(4, 1)}), "'a' has no two factors"),
        (
            Changes(up={"b": numbers(4, 1)}, down={"b": numbers(1, 4)}),
            "has no two factors and a matrix of the base",
        ),
        (Changes(up={"a": numbers(4, 2)}, down={"a": numbers(1, 4)}), r"'up.a' has shape \[4, 2\]"),
        (Changes(up={"a": numbers(5, 1)}, down={"a": numbers(1, 4)}), r"'up.a @ down.a' has shape \[5, 4\]"),
    ],
)
def test_what_does_not_fit_the_base_is_refused_by_name(changes, told):
    with pytest.raises(CheckpointError, match=told):
        changes.applied({"a": numbers(4, 4)}, "tasks/qa/changes.safetensors")
