import pytest
import torch

from spanwise.nn.fused.pointer import point_rows, scaled_chances, serves


@pytest.mark.parametrize("threads", [1, 2])
def test_the_loops_are_the_softmax_of_each_run_on_any_number_of_threads(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        lengths = [1 + (7 * k) % 45 for k in range(80)]
        generator = torch.Generator().manual_seed(0)
        scores = 20 * torch.randn(sum(lengths), generator=generator)
        borders = torch.tensor([0, *lengths]).cumsum(0)
        best, total = point_rows(scores, borders)
        torch.testing.assert_close(best, torch.stack([run.max() for run in scores.split(lengths)]))
        expected = [(run - run.max()).exp() for run in scores.split(lengths)]
        torch.testing.assert_close(total, torch.stack([run.sum() for run in expected]))
        factor = torch.arange(80.0)
        scaled = torch.cat([run * f for f, run in zip(factor, expected, strict=True)])
        torch.testing.assert_close(scaled_chances(scores, borders, best, factor), scaled)
    finally:
        torch.set_num_threads(before)


def test_other_kinds_of_numbers_are_left_to_torch():
    assert serves(torch.zeros(1)) and not serves(torch.zeros(1, dtype=torch.float64))
