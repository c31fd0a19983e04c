"""A process alone keeps everything, and its pieces are the model's own parameters."""

import torch
from toy import ToyModel

from spanwise.training.pieces import KeptModel


def test_whole_pieces_are_the_parameters_with_their_gradients():
    model = ToyModel()
    kept = KeptModel(model)
    piece = next(piece for piece in kept.pieces if piece.name == "mix.weight")
    piece.tensor.grad = gradient = torch.ones(32, 32)

    assert [piece.name for piece in kept.pieces] == [name for name, _ in model.named_parameters()]
    assert piece.tensor is model.mix.weight and piece.shape == (32, 32)
    assert piece.take_gradient() is gradient and piece.tensor.grad is None and piece.take_sum() is None
    assert piece.added(gradient) is gradient and piece.joined(gradient) is gradient
    assert kept.buffers.keys() == {"scale"} and kept.buffers["scale"] is model.scale


def test_alone_there_is_nobody_to_accompany():
    kept = KeptModel(ToyModel())
    with kept.at_leader(), kept.own_gradients(), kept.computing():
        assert kept.rounds(["a", "b"]) == ["a", "b"] and kept.gather(3) == [3]
