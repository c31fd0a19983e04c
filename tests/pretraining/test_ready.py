import json
import shutil
from dataclasses import replace

import pytest
from tests.nn.toy import toy_encoder

from spanwise import recipes
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.ready import Start, check_given, make_ready
from spanwise.runtime.progress import RunLog
from spanwise.training.run_folder import RunFolder


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ConfigError, "give either data .* or text"),
        ({"data": "a", "text": "b"}, ConfigError, "give either data .* or text"),
        ({"data": ["a:0", "b:1"]}, ConfigError, "a"),
        ({"text": "no-such-file.txt"}, DataError, "no-such-file"),
        ({"data": "a", "valid": "no-such-file.txt"}, DataError, "no-such-file"),
        ({"data": "a", "add_tokens": ["x"]}, ConfigError, "add_tokens adds rows to given weights"),
    ],
)
def test_what_is_not_there_is_told_before_a_run_folder_is_made(inputs, error, message):
    with pytest.raises(error, match=message):
        check_given(recipes.spanbert_tiny(), inputs, resume=False)


def test_a_run_that_goes_on_needs_its_text_no_longer():
    check_given(recipes.spanbert_tiny(), {"text": "no-such-file.txt"}, resume=True)


def test_other_weights_are_another_start(tmp_path):
    assert Start().identity is None
    for seed in (0, 1):
        write_folder(tmp_path / str(seed), FolderContent(toy_encoder(seed=seed), {}))
    first, second = (Start(checkpoint=read_folder(tmp_path / str(seed))) for seed in (0, 1))
    assert first.identity != second.identity
    assert first.identity != Start(checkpoint=first.checkpoint, generator=second.checkpoint).identity


def test_weights_without_a_tokenizer_need_one_named(tmp_path, tiny_store):
    write_folder(tmp_path / "weights", FolderContent(toy_encoder(), {}))
    inputs = {"data": tiny_store.path, "init": tmp_path / "weights"}
    with pytest.raises(CheckpointError, match="holds no tokenizer; name one with --tokenizer"):
        make_ready(recipes.spanbert_tiny(), RunFolder(tmp_path / "run"), inputs, RunLog(None))


def test_a_tokenizer_whose_ids_mean_other_pieces_is_refused_for_given_weights(tmp_path, tiny_store, tiny_text):
    words = tiny_store.tokenizer()
    encoder = toy_encoder(vocab_size=words.vocab_size)
    write_folder(tmp_path / "weights", FolderContent(encoder, {}, words))
    record = json.loads((tiny_store.path / "tokenizer" / "tokenizer.json").read_text())
    vocabulary = record["model"]["vocab"]
    one, other = list(vocabulary)[-2:]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    shutil.copytree(tiny_store.path / "tokenizer", tmp_path / "swapped")
    (tmp_path / "swapped" / "tokenizer.json").write_text(json.dumps(record))

    recipe = recipes.spanbert_tiny()
    recipe = replace(recipe, format=replace(recipe.format, max_length=encoder.config.max_positions))

    def ready(tokenizer, run):
        inputs = {"text": tiny_text, "init": tmp_path / "weights", "tokenizer": tokenizer}
        return make_ready(recipe, RunFolder(tmp_path / run), inputs, RunLog(None))

    with pytest.raises(CheckpointError, match=r"id \d+ is '.*' to the tokenizer of .*weights and '.*' to .*swapped"):
        ready(tmp_path / "swapped", "one")
    assert ready(tiny_store.path / "tokenizer", "two").tokenizer.sha256 == words.sha256
