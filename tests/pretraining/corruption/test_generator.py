from dataclasses import replace

import pytest
import torch
from test_system import small
from toy_electra import electra

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.objectives import MaskedLM, ReplacedToken, SpanBoundary
from spanwise.pretraining.system import build_model, check, training_source, validation_source


@pytest.fixture(scope="module")
def ready(tiny_store):
    recipe = electra()
    check(recipe)
    source = training_source(recipe, tiny_store)
    return build_model(recipe, tiny_store.vocabulary.size), source.step(0)[0], source.masked_step(0)[0]


@pytest.mark.parametrize(
    ("size", "hidden", "wanted", "heads"),
    [(0.25, 256, 64, 1), (1 / 3, 768, 256, 4), (0.25, 1024, 256, 4), (1.0, 256, 256, 4), (0.25, 32, 8, 1)],
)
def test_the_generator_has_the_published_shapes(size, hidden, wanted, heads):
    encoder = EncoderConfig(
        vocab_size=100, hidden_size=hidden, num_layers=12, num_heads=4, intermediate_size=64, pooler=True
    )
    config = Generator(size=size).config(encoder)
    assert (config.hidden_size, config.num_heads, config.intermediate_size) == (wanted, heads, 4 * wanted)
    assert (config.num_layers, config.embedding_width, config.pooler) == (12, hidden, False)
    assert Generator(layers=0.5).config(encoder).num_layers == 6


def test_a_size_that_its_heads_do_not_divide_is_refused_by_both_names():
    with pytest.raises(ConfigError, match=r"corruption.size 0.51 of encoder.hidden_size 256 .* 131"):
        check(replace(electra(size=0.51), encoder=replace(electra().encoder, hidden_size=256)))


def test_a_generator_without_masked_lm_has_nothing_to_draw_from():
    with pytest.raises(ConfigError, match="'mlm'"):
        Generator(objectives={"sbo": SpanBoundary()})


def test_tables_are_shared_counted_once_and_the_rest_is_the_generators_own(ready):
    model, _, _ = ready
    generator = model.corruption
    assert generator.encoder.word_embedding is model.encoder.word_embedding
    assert generator.heads["mlm"].weight is model.encoder.word_embedding
    names = [name for name, _ in model.named_parameters()]
    assert len(names) == len(set(names)) and "corruption.encoder.embeddings.projection.weight" in names
    assert not any(name.startswith("corruption.encoder.embeddings") and "projection" not in name for name in names)
    shared = tuple(f"encoder.embeddings.{table}." for table in ("word", "position", "token_type", "norm"))
    own = {name for name, _ in generator.named_parameters() if not name.startswith(shared)}
    assert {f"corruption.{name}" for name in own} == {name for name in names if name.startswith("corruption.")}


def test_hidden_places_get_drawn_ids_and_all_others_stay(ready):
    model, batch, masked = ready
    corrupted = model.corruption(batch)
    hidden = torch.zeros(len(batch.input_ids), dtype=torch.bool)
    hidden[torch.from_numpy(masked.hidden.position)] = True
    num_real = batch.num_tokens
    original = torch.from_numpy(masked.pack.input_ids)
    assert torch.equal(corrupted.original_ids[:num_real], original)
    assert torch.equal(corrupted.input_ids[:num_real][~hidden[:num_real]], original[~hidden[:num_real]])
    drawn = corrupted.input_ids[hidden]
    assert (drawn < model.encoder.config.vocab_size).all() and (drawn != original[hidden[:num_real]]).any()
    assert torch.equal(corrupted.input_ids[num_real:], batch.input_ids[num_real:])


def test_hidden_positions_of_a_pack_are_unique(ready):
    """The released code draws positions twice and adds their ids up."""
    _, _, masked = ready
    position = masked.hidden.position
    assert len(set(position.tolist())) == len(position) > 0


def test_the_right_token_can_be_ruled_out(tiny_store):
    recipe = electra(disallow_correct=True)
    model, batch = build_model(recipe, tiny_store.vocabulary.size), training_source(recipe, tiny_store).step(0)[0]
    corrupted = model.corruption(batch)
    targets = batch.targets["mlm"]
    assert (corrupted.input_ids[targets.positions] != targets.ids).all()


def gradients_of(model, batch, names):
    model.zero_grad(set_to_none=True)
    losses = model(batch)
    sum(losses[name].sum for name in names).backward()
    return {name for name, p in model.named_parameters() if p.grad is not None and p.grad.any()}


def test_the_discriminators_loss_reaches_the_generator_through_the_shared_embeddings_alone(ready):
    """Sampling stands under stop-gradient."""
    model, batch, _ = ready
    reached = gradients_of(model, batch, ["rtd"])
    assert not any(name.startswith("corruption.") for name in reached)
    assert "encoder.embeddings.word.weight" in reached and "heads.rtd.out.weight" in reached
    generators = gradients_of(model, batch, ["mlm"])
    assert "corruption.encoder.layers.0.attention.qkv.weight" in generators
    beside = {name for name in generators if not name.startswith("corruption.")}
    assert beside and all(name.startswith("encoder.embeddings.") for name in beside)
    assert "encoder.embeddings.projection.weight" not in beside


def test_every_parameter_of_both_halves_is_reached(ready):
    model, batch, _ = ready
    assert gradients_of(model, batch, ["mlm", "rtd"]) == {name for name, _ in model.named_parameters()}


def test_a_batch_alone_decides_what_is_drawn(tiny_store):
    """Sampling is counted by seed, epoch and block: no generator of torch moves, and a resumed run draws the same."""
    recipe = electra()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(3)[0]
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = model.corruption(batch).input_ids
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    again = model.corruption(training_source(recipe, tiny_store).step(3)[0]).input_ids
    assert torch.equal(first, again)
    other = replace(recipe, training=replace(recipe.training, seed=1))
    draws = training_source(other, tiny_store).step(3)[0].targets["sampling"].uniform
    assert not torch.equal(draws[:5], batch.targets["sampling"].uniform[:5])


def test_another_epoch_draws_anew_and_validation_always_the_same(tiny_store):
    training, validation = training_source(electra(), tiny_store), validation_source(electra(), tiny_store)
    first, second = (
        {one.pack.block_ids[0]: one.draws[:4].tolist() for one in training.epoch_masked(epoch)} for epoch in (0, 1)
    )
    assert all(first[block] != second[block] for block in first.keys() & second.keys())
    packs = validation.num_packs(0)
    assert torch.equal(
        validation.step(0)[0].targets["sampling"].uniform, validation.step(packs)[0].targets["sampling"].uniform
    )
    masked = validation.masked_step(0)[0]
    assert (masked.input_ids[masked.hidden.position] == tiny_store.vocabulary.mask_id).all()


def test_a_generator_may_learn_span_boundaries_too(tiny_store):
    recipe = replace(small(), objectives={"rtd": ReplacedToken()}, corruption=Generator(
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()}
    ))  # fmt: skip
    check(recipe)
    model, batch = build_model(recipe, tiny_store.vocabulary.size), training_source(recipe, tiny_store).step(0)[0]
    assert set(model(batch)) == {"mlm", "sbo", "rtd"} == set(batch.counts) == set(model.loss_weights)


def test_one_loss_of_a_name():
    with pytest.raises(ConfigError, match=r"objectives.mlm and corruption.objectives.mlm .* Generator"):
        check(replace(electra(), objectives={"rtd": ReplacedToken(), "mlm": MaskedLM()}))


def test_replaced_tokens_are_asked_for_only_where_a_generator_replaces_some():
    with pytest.raises(ConfigError, match=r"'rtd' asks which tokens were replaced.*Symbols.*Generator"):
        check(replace(small(), objectives={"rtd": ReplacedToken()}))


def test_a_generator_beside_a_causal_encoder_is_refused():
    recipe = electra()
    with pytest.raises(ConfigError, match=r"'mlm' reads both sides"):
        check(replace(recipe, encoder=replace(recipe.encoder, causal=True)))
