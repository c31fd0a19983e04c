"""Products are rounded as asked and come back as they were; gradients of chunks add up unrounded."""

import torch

from spanwise.nn.coreference.products import factor, product, product_dtype


def test_products_are_those_of_rounded_factors():
    rows, weight, bias = torch.randn(5, 8), torch.randn(3, 8), torch.randn(3)
    assert torch.equal(product(rows, weight, None, bias), torch.nn.functional.linear(rows, weight, bias))
    found = product(rows, weight, torch.bfloat16, bias)
    expected = rows.bfloat16().double() @ weight.bfloat16().double().T
    assert found.dtype == torch.float32
    torch.testing.assert_close(found - bias, expected.float(), rtol=0.01, atol=0.01)


def test_the_type_is_what_autocast_asks_for():
    cpu = torch.device("cpu")
    assert product_dtype(cpu) is None
    with torch.autocast("cpu", torch.bfloat16):
        assert product_dtype(cpu) is torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert product_dtype(cpu) is None


def test_gradients_of_many_chunks_add_up_in_float32():
    weight = torch.zeros(1, 1, requires_grad=True)
    low = factor(weight, torch.bfloat16)
    chunks = [product(torch.full((1, 1), value), low, torch.bfloat16) for value in (256.0, *[1.0] * 8)]
    sum(chunks).sum().backward()
    assert weight.grad.item() == 264.0  # bfloat16 has no number between 256 and 258
    with torch.no_grad():
        assert factor(weight, torch.bfloat16).dtype == torch.bfloat16 and factor(weight, None) is weight
