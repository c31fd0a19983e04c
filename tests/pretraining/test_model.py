import torch
from test_system import small

from spanwise import recipes
from spanwise.data.batch import Batch
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.system import build_model, training_source


def test_the_decoder_is_the_word_table_and_counts_once():
    model = build_model(small(), 100)
    for head in model.heads.values():
        assert head.weight is model.encoder.word_embedding
    names = [name for name, _ in model.named_parameters()]
    assert len(names) == len(set(names)) and "encoder.embeddings.word.weight" in names
    assert not any(name.startswith("heads") and name.endswith("word.weight") for name in names)


def test_every_parameter_gets_a_gradient_from_a_real_pack(tiny_store):
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(0)[0]
    sum(loss.sum for loss in model(batch).values()).backward()
    without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == set()


def test_a_pack_without_targets_gives_zero_and_zero_gradients(tiny_store):
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(0)[0]
    empty = {
        name: type(target)(**{key: getattr(target, key)[:0] for key in target.__dataclass_fields__})
        for name, target in batch.targets.items()
    }
    losses = model(
        Batch(input_ids=batch.input_ids, token_type_ids=batch.token_type_ids, sequences=batch.sequences, targets=empty)
    )
    total = sum(loss.sum for loss in losses.values())
    assert float(total.detach()) == 0.0
    total.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_loss_weights_are_the_recipes():
    model = build_model(small(recipes.spanbert_base()), 100)
    assert isinstance(model, PretrainingModel) and model.loss_weights == {"mlm": 1.0, "sbo": 1.0}
