"""How many numbers the classes of Hugging Face have, counted without filling one."""

import torch

from spanwise.pretraining.describe import describe_recipe


def parameters_of(recipe):
    return describe_recipe(recipe)["parameters"]


def theirs(cls, config) -> int:
    """Parameters of a class, tied ones once."""
    with torch.device("meta"):
        model = cls(config)
    return sum(parameter.numel() for parameter in model.parameters())
