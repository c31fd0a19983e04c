import torch

from spanwise.nn.heads.kind import rows_of_out


def test_the_size_of_a_head_is_the_rows_of_its_matrix_and_one_where_there_is_none():
    assert rows_of_out({"out.weight": torch.zeros(5, 3), "out.bias": torch.zeros(9)}) == (5,)
    assert rows_of_out({"out.weight": torch.zeros(5)}) == (1,) and rows_of_out({}) == (1,)
