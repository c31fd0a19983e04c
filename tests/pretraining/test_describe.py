"""Sizes and costs of recipes."""

from dataclasses import replace

import pytest
import torch
from test_system import small

from spanwise.nn.flops import training_flops_per_token
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.describe import count_parameters, describe_recipe, parameters_by_head, training_flops
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.objectives import CausalLM, ReplacedToken
from spanwise.pretraining.system import build_model, outline_model
from spanwise.recipes import spanbert_base, spanbert_large, spanbert_modern_mini, spanbert_tiny
from spanwise.training.optim import build_optimizer


def test_base_and_large_have_the_parameters_of_the_published_models():
    # BERT cased without pooler: 107,719,680 and 332,529,664 (the Hugging Face classes, add_pooling_layer=False)
    assert describe_recipe(spanbert_base())["parameters"]["encoder"] == 107_719_680
    assert describe_recipe(spanbert_large())["parameters"]["encoder"] == 332_529_664


def test_the_boundary_head_has_the_parameters_of_the_papers_code():
    recipe = spanbert_base()
    original = replace(
        recipe, objectives={**recipe.objectives, "sbo": replace(recipe.objectives["sbo"], num_positions=15)}
    )
    H, V = 768, 28_996
    wanted = 15 * 200 + ((2 * H + 200) * H + H) + 2 * H + (H * H + H) + 2 * H + V
    assert describe_recipe(original)["parameters"]["by_head"]["sbo"] == wanted


def test_counts_are_those_of_the_model_that_is_built():
    model = build_model(spanbert_tiny(), vocab_size=1_001)
    found = describe_recipe(spanbert_tiny(), vocab_size=1_001)["parameters"]
    assert found["encoder"] == count_parameters(model.encoder, 1_001)
    assert found["by_head"] == {name: count_parameters(head, 1_001) for name, head in model.heads.items()}
    padded = sum(parameter.numel() for parameter in model.parameters())
    assert found["total"] == padded - (1_024 - 1_001) * (128 + 2)  # word rows, and a bias of each of the two heads


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
def test_memory_is_what_weights_gradients_and_moments_hold(optimizer):
    recipe = small()
    recipe = replace(recipe, training=replace(recipe.training, optimizer=optimizer))
    model = build_model(recipe, vocab_size=128)
    steps = build_optimizer(model, recipe.training)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    steps.step()
    moments = sum(
        value.numel()
        for parameter in model.parameters()
        for value in steps.state[parameter].values()
        if torch.is_tensor(value) and value.dim()
    )
    held = 4 * (2 * sum(parameter.numel() for parameter in model.parameters()) + moments)
    assert describe_recipe(recipe, vocab_size=128)["memory"]["parameters_and_optimizer"] == held


def test_the_data_path_says_whether_masks_come_again():
    dynamic = "\n".join(describe_recipe(spanbert_base())["data_path"])
    static = "\n".join(describe_recipe(replace(spanbert_base(), num_maskings=10))["data_path"])
    assert "new at every epoch (dynamic)" in dynamic
    assert "the same 10 maskings again and again (static)" in static


def test_flops_count_every_head_at_its_share_of_targets():
    recipe = spanbert_base()
    config = recipe.encoder.for_vocabulary(28_996)
    mlm, sbo = 768 * 768 + 28_996 * 768, 1_736 * 768 + 768 * 768 + 28_996 * 768  # weights that a target meets
    heads = [(0.15, mlm), (0.15, sbo)]
    assert describe_recipe(recipe)["flops_per_token"] == pytest.approx(training_flops_per_token(config, 512, heads))


def test_flops_count_a_causal_decoder_at_almost_every_token():
    recipe = spanbert_base()
    causal = replace(
        recipe,
        encoder=replace(recipe.encoder, causal=True),
        masking=NoMasking(),
        replacement=NoReplacement(),
        objectives={"clm": CausalLM()},
    )
    config = causal.encoder.for_vocabulary(28_996)
    heads = [(511 / 512, 28_996 * 768)]
    found = describe_recipe(causal)
    assert found["flops_per_token"] == pytest.approx(training_flops_per_token(config, 512, heads))
    assert found["parameters"]["by_head"] == {"clm": 0}


def test_the_data_path_names_every_part():
    path = " ".join(describe_recipe(spanbert_base())["data_path"])
    assert "SingleSegment(max_length=512)" in path  # its values, and nothing of the class
    for part in (
        "wordpiece",
        "SingleSegment",
        "GeometricSpans",
        "Replacement",
        "MaskedLM",
        "SpanBoundary",
        "12 layers",
    ):
        assert part in path


def electra():
    return replace(small(), objectives={"rtd": ReplacedToken()}, corruption=Generator(size=0.5))


def test_the_outline_has_the_shapes_of_the_model_that_is_built():
    outline, built = outline_model(electra(), 100), build_model(electra(), 100)
    shapes = [{name: tuple(p.shape) for name, p in model.named_parameters()} for model in (outline, built)]
    assert shapes[0] == shapes[1]
    assert all(parameter.is_meta for parameter in outline.parameters())


def test_a_generator_is_counted_without_the_tables_it_shares():
    recipe, V = electra(), 1_001
    model = outline_model(recipe, V)
    D, G = 32, 16  # hidden sizes; the tables are as wide as the encoder
    layer = 4 * (G * G + G) + 2 * 4 * G * G + 4 * G + G + 4 * G
    projection, head = D * G + G, (G * D + D) + 2 * D + V
    counts = parameters_by_head(model)
    assert counts == {"rtd": D * D + D + D + 1, "generator": recipe.encoder.num_layers * layer + projection + head}
    padded = sum(parameter.numel() for parameter in model.parameters())
    rows = 1_024 - V  # of the table, and of the generator's bias
    assert count_parameters(model.encoder, V) + sum(counts.values()) == padded - rows * D - rows


def test_operations_are_those_of_both_halves():
    recipe, V = electra(), 1_000
    model = outline_model(recipe, V)
    found = training_flops(recipe, model, length=64.0, attended=64.0, text_share=0.5)
    config, own = model.encoder.config, model.corruption.encoder.config
    encoder = training_flops_per_token(config, 64.0, [(1.0, 32 * 32 + 32)])
    generator = training_flops_per_token(own, 64.0, [(0.15 * 0.5, own.hidden_size * 32 + V * 32)])
    assert found == pytest.approx(encoder + generator)


def test_what_is_not_berts_in_an_encoder_is_said():
    line = next(line for line in describe_recipe(spanbert_modern_mini())["data_path"] if "encoder of" in line)
    said = ("normalised before", "rotary positions (160,000)", "64 tokens to each side but in each 3. layer", "GeGLU")
    assert all(words in line for words in (*said, "norms without biases"))
    plain = next(line for line in describe_recipe(spanbert_base())["data_path"] if "encoder of" in line)
    assert plain == "-> encoder of 12 layers x 768, 12 heads"
