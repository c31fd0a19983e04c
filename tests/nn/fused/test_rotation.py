"""The compiled rotation: the same bits on any number of threads, values untouched, and back again by its gradient."""

import pytest
import torch

from spanwise.nn.fused.rotation import Rotate
from spanwise.nn.rotary import waves


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_threads_change_no_bit_and_values_pass_as_they_are(dtype):
    qkv, positions = torch.randn(100, 48).to(dtype), torch.arange(100) % 30
    table, found = waves(50.0, 8, 30, torch.device("cpu")), []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(Rotate.apply(qkv, positions, table))
    torch.set_num_threads(before)
    assert torch.equal(*found) and torch.equal(found[0][:, 32:], qkv[:, 32:])
    assert torch.equal(found[0][positions == 0], qkv[positions == 0]) and not torch.equal(found[0], qkv)


def test_the_gradient_turns_back():
    qkv, positions = torch.randn(20, 48, requires_grad=True), torch.arange(20)
    turned = Rotate.apply(qkv, positions, waves(50.0, 8, 30, torch.device("cpu")))
    turned.backward(turned.detach())
    torch.testing.assert_close(qkv.grad, qkv.detach(), atol=1e-5, rtol=1e-5)
