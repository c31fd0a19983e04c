"""Pre-training as one call: from text, resumed after a hard kill, continued from a folder."""

import io
import json
import re
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spanwise.data.prepare import prepare
from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.load import load
from spanwise.pretraining import run
from spanwise.pretraining.masking import TaggedPhrases
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.run import pretrain, settled
from spanwise.pretraining.system import validation_source
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog

STEPS = 30


def tiny_recipe(**training):
    recipe = spanbert_tiny()
    values = {"max_tokens": None, "max_steps": STEPS, "eval_every": 10, "save_every": 3, "log_every": 1, "threads": 1}
    return replace(
        recipe,
        tokenizer=replace(recipe.tokenizer, vocab_size=300),
        encoder=replace(
            recipe.encoder, hidden_size=32, num_layers=2, num_heads=2, intermediate_size=64, max_positions=64
        ),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
        training=replace(recipe.training, **{**values, **training}),
    )


def trained(folder: Path):
    """What must be equal: the bytes of the weights, and every log line without its times."""
    final = folder / "final"
    weights = {name: (final / name).read_bytes() for name in ("model.safetensors", "heads.safetensors")}
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    timing = {"seconds", "seconds_left", "tokens_per_second", "flop_utilisation", "time"}
    return weights, [{key: value for key, value in line.items() if key not in timing} for line in lines]


def test_text_alone_gives_a_run_folder_whose_model_loads(tiny_text, tmp_path):
    result = pretrain(tiny_recipe(), text=tiny_text, valid=tiny_text, out=tmp_path / "run")
    assert result.steps == STEPS
    assert result.evaluation["mlm_loss"] < result.first_evaluation["mlm_loss"] - 0.2
    assert result.evaluation["sbo_loss"] < result.first_evaluation["sbo_loss"] - 0.2
    for name in ("tokenizer/tokenizer.json", "store/store.json", "recipe.json", "plan.jsonl", "metrics.jsonl"):
        assert (tmp_path / "run" / name).is_file()
    hidden = load(tmp_path / "run" / "final").encode(["The old river."])
    assert hidden[0].shape[1] == 32


def test_a_store_whose_tokenizer_is_not_the_recipes_is_told_and_used(tiny_store, tmp_path):
    def said(cased, kind, out):
        recipe, stream = tiny_recipe(max_steps=1), io.StringIO()
        recipe = replace(recipe, tokenizer=replace(recipe.tokenizer, cased=cased, kind=kind))
        pretrain(recipe, data=tiny_store.path, out=tmp_path / out, log=RunLog(tmp_path / out, stream=stream))
        return stream.getvalue()

    store = tiny_store.path.name
    told = f"spanbert-tiny asks for bpe, uncased; {store} was made with wordpiece, cased: the store's is used."
    assert told in said(False, "bpe", "other")
    assert "asks for" not in said(True, "wordpiece", "same")


def test_the_folder_loads_in_transformers_with_nothing_missing_and_equal_hidden_states(tiny_store, tmp_path):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    pretrain(tiny_recipe(max_steps=3), data=tiny_store.path, out=tmp_path / "run")
    final = tmp_path / "run" / "final"
    _, report = AutoModelForMaskedLM.from_pretrained(final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained(final)
    batch = tokenizer(["The old river ran.", "Every morning in winter."], padding=True, return_tensors="pt")
    with torch.no_grad():
        theirs = AutoModel.from_pretrained(final).eval()(**batch).last_hidden_state
        ours = load(final)(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    real = batch["attention_mask"].bool()
    assert torch.allclose(ours[real], theirs[real], atol=1e-5)


def test_resume_refuses_another_recipe_and_keeps_the_record_of_the_first(tiny_store, tmp_path):
    out = tmp_path / "run"
    pretrain(tiny_recipe(max_steps=3), data=tiny_store.path, out=out)
    before = (out / "recipe.json").read_bytes()
    with pytest.raises(ConfigError, match=r"masking\.p"):
        pretrain(tiny_recipe(max_steps=3), data=tiny_store.path, out=out, resume=True, overrides=["masking.p=0.3"])
    assert (out / "recipe.json").read_bytes() == before


def test_a_run_goes_on_from_another_runs_folder_with_its_heads(tiny_store, tmp_path):
    first = pretrain(tiny_recipe(), data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "first")
    second = pretrain(
        tiny_recipe(max_steps=2), data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "second", init=first.final
    )
    assert second.first_evaluation == pytest.approx(first.evaluation, rel=1e-5)


def test_heads_that_a_recipe_does_not_train_are_kept_beside_and_said(tiny_store, tmp_path, capsys):
    recipe = tiny_recipe(max_steps=1)
    first = pretrain(recipe, data=tiny_store.path, out=tmp_path / "first")
    before = read_folder(first.final)
    nsp = {"weight": torch.randn(2, 32), "bias": torch.zeros(2)}
    encoder = build_encoder(before, replace(before.config, pooler=True))
    heads = {**before.heads, "nsp": nsp, "classification": {"out.weight": nsp["weight"], "out.bias": nsp["bias"]}}
    write_folder(
        tmp_path / "init",
        FolderContent(encoder, heads, tiny_store.tokenizer(), extra={"forms": {"classification": "last_biased"}}),
    )

    only_words = replace(recipe, objectives={"mlm": recipe.objectives["mlm"]})
    log = RunLog(tmp_path / "second", stream=sys.stdout)
    result = pretrain(only_words, data=tiny_store.path, out=tmp_path / "second", init=tmp_path / "init", log=log)

    said = capsys.readouterr().out
    assert "does not train classification, nsp, sbo; heads.safetensors keeps" in said
    assert f"{result.final}: BertForMaskedLM has no place for classification, nsp, pooler, sbo" in " ".join(
        said.split()
    )
    after = read_folder(result.final)
    assert after.source_class == "BertForMaskedLM" and after.heads.keys() == {"mlm", "sbo", "nsp", "classification"}
    assert not torch.equal(after.heads["mlm"]["dense.weight"], before.heads["mlm"]["dense.weight"])
    assert after.form_of("classification") == "last_biased"
    for name in ("sbo", "nsp", "classification"):
        kept = read_folder(tmp_path / "init").heads[name]
        assert kept.keys() == after.heads[name].keys()
        assert all(torch.equal(tensor, after.heads[name][key]) for key, tensor in kept.items())


def test_an_encoder_that_no_class_of_hugging_face_computes_is_told_before_training(tiny_store, tmp_path, capsys):
    log = RunLog(tmp_path / "run", stream=sys.stdout)
    recipe = tiny_recipe(max_steps=1)
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "run", overrides=["encoder.embedding_norm=false"], log=log)

    said = capsys.readouterr().out
    assert said.index("No class of Hugging Face computes") < said.index("step 1/1")


def test_a_run_that_goes_on_records_the_shape_it_trains_and_not_the_recipes(tiny_store, tmp_path):
    first = pretrain(tiny_recipe(max_steps=2), data=tiny_store.path, out=tmp_path / "first")
    other = ["encoder.num_layers=3", "encoder.intermediate_size=96", "encoder.hidden_dropout=0.25"]
    pretrain(tiny_recipe(max_steps=2), data=tiny_store.path, out=tmp_path / "second", init=first.final, overrides=other)
    recorded = json.loads((tmp_path / "second" / "recipe.json").read_text())["encoder"]
    begun = json.loads((tmp_path / "first" / "recipe.json").read_text())["encoder"]
    assert recorded == {**begun, "hidden_dropout": 0.25}


def test_a_mixture_of_stores_is_stopped_and_resumed_bit_for_bit(tiny_store, tiny_text, tmp_path):
    """The second store is small: its epochs end in the middle of steps, before and after the stop."""
    small = tmp_path / "small.txt"
    small.write_text(tiny_text.read_text(encoding="utf-8").split("\n\n")[7], encoding="utf-8")
    prepare(small, tiny_store.tokenizer(), tmp_path / "small")
    shares = {tiny_store.path: 0.7, tmp_path / "small": 0.3}
    recipe = tiny_recipe(max_steps=8, save_every=3, eval_every=None)
    pretrain(recipe, data=shares, out=tmp_path / "whole")
    stopped = tmp_path / "stopped"
    pretrain(recipe, data=shares, out=stopped)
    shutil.rmtree(stopped / "final")
    shutil.rmtree(stopped / "checkpoints" / "step-000000008")

    result = pretrain(recipe, data=[f"{path}:{share}" for path, share in shares.items()], out=stopped, resume=True)

    assert result.resumed_from == 6 and trained(stopped) == trained(tmp_path / "whole")
    last = trained(stopped)[1][-1]
    assert last["epochs"]["small"] > 3 * last["epochs"]["store"] > 0
    shutil.rmtree(stopped / "final")
    with pytest.raises(ConfigError, match="store"):
        pretrain(recipe, data={**shares, tiny_store.path: 0.5}, out=stopped, resume=True)


def test_sequences_that_grow_are_stopped_and_resumed_bit_for_bit(tiny_store, tmp_path):
    """The run is stopped before the change, and once more behind it."""
    warmup = LengthWarmup(steps=4, max_length=24)
    recipe = replace(tiny_recipe(max_steps=8, save_every=3, keep=3, eval_every=None), length_warmup=warmup)
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "whole")
    for kept in (3, 6):
        stopped = tmp_path / f"stopped-{kept}"
        pretrain(recipe, data=tiny_store.path, out=stopped)
        shutil.rmtree(stopped / "final")
        for step in {6, 8} - {kept}:
            shutil.rmtree(stopped / "checkpoints" / f"step-{step:09}", ignore_errors=True)
        result = pretrain(recipe, data=tiny_store.path, out=stopped, resume=True)
        assert result.resumed_from == kept and trained(stopped) == trained(tmp_path / "whole")


def test_a_budget_that_ends_in_the_warm_up_says_so(tiny_store, tmp_path):
    recipe = replace(tiny_recipe(max_steps=None, budget=1.0), length_warmup=LengthWarmup(steps=10**6, max_length=24))
    told = io.StringIO()
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "run", log=RunLog(tmp_path / "run", stream=told))
    assert "ended within its length warm-up: no sequence was cut at 64 tokens" in told.getvalue()


def test_shares_are_refused_before_a_run_folder_is_made(tmp_path):
    with pytest.raises(ConfigError, match="no share"):
        pretrain(tiny_recipe(), data=["a:0.7", "b"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_data_and_text_exclude_each_other(tiny_text, tiny_store, tmp_path):
    for values in ({}, {"data": tiny_store.path, "text": tiny_text}):
        with pytest.raises(ConfigError, match="either data"):
            pretrain(tiny_recipe(), out=tmp_path / "run", **values)


def test_a_budget_ends_on_time_with_the_schedule_finished(tiny_store, tmp_path):
    result = pretrain(tiny_recipe(max_steps=None), data=tiny_store.path, out=tmp_path / "run", budget=4)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if "learning_rate" in line][-1]
    assert last["learning_rate"] == 0.0 and last["step"] == result.steps
    assert result.seconds < 12  # three times the budget: other work may hold the machine


@pytest.mark.parametrize(("asked", "told"), [(1_200, ["A step has up to 1,024 real tokens"]), (1_024, [])])
def test_a_step_that_is_rounded_to_whole_packs_is_told_once_before_anything_else(tiny_store, tmp_path, asked, told):
    changes = [f"batch.tokens_per_step={asked}", "batch.max_tokens=512"]
    for resume, expected in ((False, told), (True, [])):
        stream = io.StringIO()
        log = RunLog(tmp_path / "run", stream=stream)
        recipe = tiny_recipe(max_steps=1)
        pretrain(recipe, data=tiny_store.path, out=tmp_path / "run", overrides=changes, log=log, resume=resume)
        lines = stream.getvalue().splitlines()
        assert [line for line in lines if line.startswith("A step has")] == lines[: len(expected)]
        assert all(line.startswith(words) for line, words in zip(lines, expected, strict=False))


def test_seconds_of_a_run_hold_its_first_weights(tiny_store, tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.pretraining.ready.begin_from_text", lambda *_: time.sleep(1.5))
    began = time.perf_counter()
    result = pretrain(tiny_recipe(max_steps=1), data=tiny_store.path, out=tmp_path / "run")
    assert 1.5 <= result.seconds <= time.perf_counter() - began


@pytest.mark.parametrize("tags", ["entities", "chemical-terms"])
def test_tags_that_plain_text_has_not_are_asked_for_before_any_file_is_made(tags, tiny_text, tmp_path):
    recipe = replace(tiny_recipe(), masking=TaggedPhrases(tags=tags))
    with pytest.raises(ConfigError, match=r"--tag entities --tagger|nothing tags 'chemical-terms'.*--tags FILE"):
        pretrain(recipe, text=tiny_text, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_wrong_value_is_refused_before_any_file_is_made(tiny_store, tmp_path):
    with pytest.raises(ConfigError, match="max_length"):
        pretrain(tiny_recipe(), data=tiny_store.path, out=tmp_path / "run", overrides=["format.max_length=512"])
    assert not (tmp_path / "run").exists()


def test_a_frozen_encoder_stays_bit_for_bit_and_its_heads_learn(tiny_store, tmp_path):
    given = pretrain(tiny_recipe(max_steps=3), data=tiny_store.path, out=tmp_path / "given").final
    before = read_folder(given)
    write_folder(tmp_path / "bare", FolderContent(build_encoder(before), {}, tiny_store.tokenizer()))
    recipe = replace(tiny_recipe(max_steps=20, learning_rate=1e-2), frozen="encoder")
    result = pretrain(recipe, data=tiny_store.path, valid=tiny_store.path, init=tmp_path / "bare", out=tmp_path / "run")
    after = read_folder(result.final)
    assert all(torch.equal(after.tensors[name], tensor) for name, tensor in before.tensors.items())
    assert result.evaluation["mlm_loss"] < result.first_evaluation["mlm_loss"] - 0.1
    assert result.evaluation["sbo_loss"] < result.first_evaluation["sbo_loss"] - 0.1


def test_a_frozen_run_goes_on_and_one_that_is_not_frozen_is_another(tiny_store, tmp_path):
    frozen = replace(tiny_recipe(max_steps=4), frozen="encoder")
    final = pretrain(frozen, data=tiny_store.path, out=tmp_path / "run").final
    shutil.rmtree(final)
    assert pretrain(frozen, data=tiny_store.path, out=tmp_path / "run", resume=True).resumed_from == 4
    shutil.rmtree(final)
    with pytest.raises(ConfigError, match="frozen"):
        pretrain(tiny_recipe(max_steps=4), data=tiny_store.path, out=tmp_path / "run", resume=True)


def test_a_caller_may_measure_by_its_own_judgement_and_is_told_the_step(tiny_store, tmp_path):
    class Judge:
        def __init__(self, ready):
            self.ready, self.step, self.steps = ready, -1, []

        def __call__(self):
            self.steps.append(self.step)
            return {"answer": 42.0}

    judges = []

    def judge_of(ready):
        judges.append(Judge(ready))
        return judges[0]

    recipe = tiny_recipe(max_steps=8, eval_every=0.25)
    result = pretrain(recipe, data=tiny_store.path, out=tmp_path / "run", evaluate=judge_of)
    assert judges[0].steps == [0, 2, 4, 6, 8] and result.evaluation == {"answer": 42.0}
    assert judges[0].ready.recipe.name == recipe.name


def test_stop_words_of_what_is_measured_are_those_of_the_text_that_is_learned_from(tiny_store, tmp_path, monkeypatch):
    """A small held-out text alone would call every word a stop word."""
    given = []

    def source_of(*arguments, counted=None):
        given.append(counted)
        return validation_source(*arguments, counted=counted)

    monkeypatch.setattr(run, "validation_source", source_of)
    result = pretrain(tiny_recipe(max_steps=1), data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "run")
    assert result.steps == 1
    assert [one.unigram_counts.tolist() for one in given] == [tiny_store.vocabulary.unigram_counts.tolist()]


def test_what_is_left_out_of_the_measuring_is_told(tiny_store, tmp_path, monkeypatch):
    def said(out):
        stream = io.StringIO()
        log, stores = RunLog(tmp_path / out, stream=stream), {"data": tiny_store.path, "valid": tiny_store.path}
        pretrain(tiny_recipe(max_steps=1), **stores, out=tmp_path / out, log=log)
        return " ".join(stream.getvalue().split())

    assert "Measuring on" not in said("whole")
    monkeypatch.setattr(run, "MAX_VALIDATION_TOKENS", 300)
    assert re.search(rf"Measuring on the first 2 of \d+ packs of {tiny_store.path}, in stored order\.", said("part"))


def test_a_budget_beside_another_length_that_was_asked_for_is_refused():
    recipe = tiny_recipe()
    with pytest.raises(ConfigError, match=r"budget 60 s and training\.max_steps=100 are two lengths of one run"):
        settled(recipe, overrides=["training.max_steps=100"], budget=60)
    nothing = settled(recipe, overrides=["training.max_steps=null"], budget=60)
    assert nothing.training.length == ("budget", 60.0) == settled(recipe, budget=60).training.length
