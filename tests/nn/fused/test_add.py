import pytest
import torch

from spanwise.nn.fused.add import add_rows


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_rows", [0, 1, 100])
def test_shares_are_added_in_float32_and_a_fresh_total_is_the_share(num_rows, dtype):
    share, total = torch.randn(num_rows, 7).to(dtype), torch.randn(num_rows, 7)
    expected = total + share.float()
    add_rows(total, share, fresh=False)
    assert torch.equal(total, expected)
    total.fill_(float("nan"))
    add_rows(total, share, fresh=True)
    assert torch.equal(total, share.float())
