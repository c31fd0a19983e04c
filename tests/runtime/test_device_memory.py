import torch

from spanwise.runtime.device_memory import PeakMemory, free_memory

CPU = torch.device("cpu")


def test_a_cpu_sets_no_limit_to_a_pack():
    assert free_memory(CPU) is None


def test_the_peak_counts_what_is_held_at_once_and_no_view_twice():
    before = torch.ones(1000)
    with PeakMemory(CPU) as memory:
        first = before * 2  # 4,000 bytes
        view = first.view(10, 100).t()
        del first
        second = view + 1  # as many again
        del view, second
        third = torch.empty(500)  # 2,000, when nothing else is left
        before.add_(1)
    assert memory.peak == 8000 and len(third) == 500


def test_what_a_backward_pass_needs_is_in_the_peak():
    weight = torch.randn(64, 64, requires_grad=True)
    x = torch.randn(256, 64)

    def peak(depth):
        with PeakMemory(CPU) as memory:
            out = x
            for _ in range(depth):
                out = (out @ weight).tanh()
            out.sum().backward()
        weight.grad = None
        return memory.peak

    one = 256 * 64 * 4
    assert 6 * one <= peak(8) - peak(2) <= 7 * one  # each tanh is kept, and one product at a time
