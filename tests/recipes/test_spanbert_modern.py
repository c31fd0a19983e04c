"""SpanBERT's parts on ModernBERT's encoder, written as the class that transformers has."""

import pytest

from spanwise import recipes
from spanwise.config import difference, to_record
from spanwise.interop.architectures import choose_architecture
from spanwise.nn.init import initialize
from spanwise.pretraining.system import outline_model

PAIRS = {
    "spanbert_modern_base": "spanbert_base",
    "spanbert_modern_small": "spanbert_small",
    "spanbert_modern_mini": "spanbert_mini",
}


@pytest.mark.parametrize(("modern", "plain"), PAIRS.items())
def test_they_are_spanbert_but_for_encoder_and_first_positions(modern, plain):
    one, other = getattr(recipes, modern)(), getattr(recipes, plain)()
    paths = {path.split(".")[0] for path, _, _ in difference(to_record(other), to_record(one))}
    assert paths <= {"name", "encoder", "initial", "differences"}
    assert choose_architecture(one.encoder.for_vocabulary(100), {}, 0).name == "ModernBertModel"


@pytest.mark.parametrize("size", ["small", "mini"])
def test_those_of_one_machine_have_as_many_weights_in_their_layers_as_bert_has(size):
    numbers = [
        sum(weight.numel() for weight in outline_model(recipe, 100).encoder.layers.parameters())
        for recipe in (getattr(recipes, f"spanbert_{size}")(), getattr(recipes, f"spanbert_modern_{size}")())
    ]
    assert abs(numbers[0] - numbers[1]) < 0.02 * numbers[0]


def test_what_is_summed_up_in_the_residual_starts_smaller():
    from spanwise.nn.encoder import Encoder

    config = recipes.spanbert_modern_mini().encoder.for_vocabulary(100)
    encoder = Encoder(config)
    initialize(encoder, config, seed=0)
    layer = encoder.layers[1]
    for name, scale in (("attention.qkv", 1.0), ("attention.output", 8**-0.5), ("feed_forward.down", 8**-0.5)):
        assert abs(float(layer.get_submodule(name).weight.detach().std()) / (0.02 * scale) - 1) < 0.02
    assert layer.attention.residual.norm.weight.eq(1).all() and encoder.final_norm.weight.eq(1).all()
