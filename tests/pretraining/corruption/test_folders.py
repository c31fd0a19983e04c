"""Both halves of ELECTRA on disk: classes of Hugging Face, going on, resuming."""

import io
import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from toy_electra import electra
from transformers import ElectraForMaskedLM, ElectraForPreTraining

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.corruption import Generator, Symbols
from spanwise.pretraining.corruption.folders import read_generator, shaped_generator, write_generator
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model
from spanwise.runtime.progress import RunLog


def run_recipe(**training):
    recipe = electra(size=0.5)
    values = {"optimizer": "adamw", "max_tokens": None, "max_steps": 4, "save_every": 2, "keep": 9, "log_every": 1}
    return replace(recipe, training=replace(recipe.training, **{**values, "threads": 1, **training}))


@pytest.fixture(scope="module")
def run(tiny_store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("electra") / "run"
    result = pretrain(run_recipe(), data=tiny_store.path, valid=tiny_store.path, out=folder)
    return folder, result


def test_each_half_is_a_class_of_transformers_with_nothing_missing(run):
    final = run[0] / "final"
    for folder, cls in ((final, ElectraForPreTraining), (final / "generator", ElectraForMaskedLM)):
        assert json.loads((folder / "config.json").read_text())["architectures"] == [cls.__name__]
        model, report = cls.from_pretrained(folder, output_loading_info=True)
        assert not report["missing_keys"] and not report["unexpected_keys"]
        assert (folder / "tokenizer.json").is_file() and model.config.embedding_size == 24
    halves = [load_file(folder / "model.safetensors") for folder in (final, final / "generator")]
    table = "electra.embeddings.word_embeddings.weight"
    assert torch.equal(halves[0][table], halves[1][table])


def test_evaluation_tells_both_losses_and_how_well_replacements_are_found(run):
    found = run[1].evaluation
    names = ("mlm_loss", "mlm_accuracy", "rtd_loss", "rtd_accuracy", "rtd_recall", "rtd_auc", "rtd_replaced_share")
    assert set(names) <= found.keys()
    assert 0.0 < found["rtd_replaced_share"] < 0.2  # at most all hidden tokens
    assert found["loss"] == pytest.approx(found["mlm_loss"] + 50 * found["rtd_loss"])


def test_a_run_goes_on_from_both_halves(run, tiny_store, tmp_path):
    """The generator's size is the folder's, whatever the recipe says."""
    folder, first = run
    recipe = replace(run_recipe(max_steps=1), corruption=Generator(size=0.25))
    second = pretrain(
        recipe, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "second", init=folder / "final"
    )
    assert second.first_evaluation == pytest.approx(first.evaluation, rel=1e-5)
    recorded = json.loads((tmp_path / "second" / "recipe.json").read_text())
    assert recorded["corruption"]["size"] == 0.5


def test_a_resumed_run_draws_the_same_samples(run, tiny_store, tmp_path):
    whole = run[0]
    shutil.copytree(whole, tmp_path / "run", ignore=shutil.ignore_patterns("final", "step-000000004", "LOCK"))
    pretrain(run_recipe(), data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "run", resume=True)
    for name in ("model.safetensors", "generator/model.safetensors"):
        assert (tmp_path / "run" / "final" / name).read_bytes() == (whole / "final" / name).read_bytes()


def test_without_a_generator_in_the_folder_a_fresh_one_starts(run, tiny_store, tmp_path):
    shutil.copytree(run[0] / "final", tmp_path / "half", ignore=shutil.ignore_patterns("generator", "manifest.json"))
    told, out = io.StringIO(), tmp_path / "run"
    log = RunLog(out, stream=told)

    pretrain(run_recipe(max_steps=1), data=tiny_store.path, out=out, init=tmp_path / "half", log=log)

    assert "fresh heads: generator" in told.getvalue()


def test_a_generator_with_another_vocabulary_or_another_table_is_refused(tmp_path):
    model, other = build_model(electra(), 100), build_model(electra(), 101)
    write_folder(tmp_path / "m", FolderContent(model.encoder, dict(model.heads.items())))
    write_generator(tmp_path / "m", other.corruption, None, "electra")
    with pytest.raises(CheckpointError, match=r"generator has vocab_size 101, the encoder of .* 100.*[Rr]emove"):
        read_generator(read_folder(tmp_path / "m"))

    shutil.rmtree(tmp_path / "m" / "generator")
    write_generator(tmp_path / "m", model.corruption, None, "electra")
    assert read_generator(read_folder(tmp_path / "m")) is not None
    file = tmp_path / "m" / "generator" / "model.safetensors"
    tensors = load_file(file)
    tensors["electra.embeddings.word_embeddings.weight"][7] += 1.0
    save_file(tensors, file, metadata={"format": "pt"})
    (tmp_path / "m" / "generator" / "spanwise.json").unlink()
    with pytest.raises(CheckpointError, match=r"embeddings\.word\.weight.*not that of the encoder"):
        read_generator(read_folder(tmp_path / "m"))


def test_a_generator_that_no_size_gives_is_refused(tmp_path):
    model = build_model(electra(size=0.5), 100)
    write_folder(tmp_path / "m", FolderContent(model.encoder, dict(model.heads.items())))
    write_generator(tmp_path / "m", model.corruption, None, "electra")
    checkpoint = read_folder(tmp_path / "m")
    generator = read_generator(checkpoint)
    assert shaped_generator(Generator(), generator, checkpoint.config).size == 0.5
    odd = replace(generator, config=replace(generator.config, intermediate_size=10))
    with pytest.raises(CheckpointError, match="intermediate_size 10"):
        shaped_generator(Generator(), odd, checkpoint.config)


def test_going_on_without_a_generator_says_so_and_keeps_the_discriminators_head(run, tiny_store, tmp_path):
    first, shown = run[1].final, io.StringIO()
    recipe = run_recipe(max_steps=1)
    plain = replace(recipe, corruption=Symbols(), objectives={"mlm": MaskedLM()})
    log = RunLog(tmp_path / "run", stream=shown)

    result = pretrain(plain, data=tiny_store.path, init=first, out=tmp_path / "run", log=log)

    assert f"no generator; the one of {first} is left out" in shown.getvalue()
    assert "does not train rtd; heads.safetensors keeps" in shown.getvalue()
    after, before = read_folder(result.final), read_folder(first)
    assert after.source_class == "ElectraForMaskedLM" and not (result.final / "generator").exists()
    assert all(torch.equal(tensor, after.heads["rtd"][name]) for name, tensor in before.heads["rtd"].items())
