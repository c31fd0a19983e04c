"""The quickstart's recipe takes the shape it is given, and its columns differ in nothing but their weights."""

import dataclasses

import torch

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.system import build_model, validation_source
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.learning import (
    make_columns,
    masked_paragraph,
    quickstart_recipe,
    save_control,
)
from spanwise.quickstart.texts_in import CorpusReader, learn_vocabulary, prepare_stores
from spanwise.text.corpus import CorpusOptions


def prepare(tmp_path):
    lines = [
        f"The town of Moss built bridge number {n} in {1700 + n}. It was made of stone and wood.\n" for n in range(300)
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    with open_bundle() as bundle:
        reader = CorpusReader([tmp_path / "a.txt"], bundle, CorpusOptions(), budget=60)
        tokenizer = learn_vocabulary(reader, tmp_path / "tokenizer", vocab_size=300, max_length=64)
        return prepare_stores(reader, tokenizer, tmp_path)[0]


def tiny_recipe():
    recipe = quickstart_recipe(None)
    encoder = dataclasses.replace(recipe.encoder, num_layers=1, hidden_size=32, num_heads=2, intermediate_size=64)
    return dataclasses.replace(recipe, encoder=encoder)


def test_a_given_checkpoint_decides_the_shape_and_the_control_has_the_weights_training_began_with(tmp_path):
    prepared, recipe = prepare(tmp_path), tiny_recipe()
    start = build_model(recipe, prepared.train.vocabulary.size)
    columns = make_columns(recipe, prepared, save_model(start, prepared, tmp_path / "m"), init=None)
    save_control(columns, prepared, tmp_path / "control")

    checkpoint = read_folder(tmp_path / "control")
    given = quickstart_recipe(checkpoint)

    assert (given.encoder.num_layers, given.encoder.hidden_size) == (1, 32)
    assert given.training.learning_rate < quickstart_recipe(None).training.learning_rate
    assert given.encoder.hidden_dropout == given.encoder.attention_dropout == 0.0  # as its differences say
    for name, tensor in start.encoder.state_dict().items():
        torch.testing.assert_close(columns.control.encoder.state_dict()[name], tensor)


def save_model(model, prepared, folder):
    from spanwise.interop.huggingface import write_folder

    write_folder(folder, FolderContent(model.encoder, dict(model.heads.items()), prepared.tokenizer))
    return folder


def test_measured_packs_hide_every_token_behind_mask_and_never_change(tmp_path):
    prepared, recipe = prepare(tmp_path), tiny_recipe()

    once, again = (list(validation_source(recipe, prepared.valid).epoch_masked()) for _ in range(2))

    for one, other in zip(once, again, strict=True):
        assert (one.input_ids[one.hidden.position] == prepared.tokenizer.mask_id).all()
        assert (one.input_ids == other.input_ids).all()


def test_the_shown_paragraph_is_text_of_the_training_store_with_spans(tmp_path):
    pieces = masked_paragraph(tiny_recipe(), prepare(tmp_path))

    assert any(piece.span is not None for piece in pieces)
    assert not any(piece.text.startswith("[") for piece in pieces)


def test_the_korean_recipe_composes_its_vocabulary_and_needs_no_analyser():
    korean = quickstart_recipe(None, "ko")
    assert (korean.name, korean.tokenizer.unicode_form, korean.word_unit) == ("spanbert-quickstart-ko", "NFC", "word")
    assert korean.training == quickstart_recipe(None).training
