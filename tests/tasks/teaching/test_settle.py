"""What is open is settled, told and recorded; what is given stays, and a resume computes nothing anew."""

import io
import json
from dataclasses import replace

import pytest

from spanwise.config import override
from spanwise.errors import CheckpointError, ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.progress import RunLog
from spanwise.tasks.registry import TASKS, recipes_of, task_recipe
from spanwise.tasks.run import finetune
from spanwise.tasks.teaching import rule
from spanwise.tasks.teaching.rule import usual_rate
from spanwise.tasks.teaching.settle import explained, shown_rate, with_epochs, with_rate_and_dropout
from spanwise.training.plan import TrainingOptions, read_plan

ROWS = "text\tlabel\nThe Han\ta\nkm km\tb\nIn Seoul\ta\nand and\tb\n"


def shape(width, depth, dropout=0.1):
    return EncoderConfig(
        hidden_size=width, num_layers=depth, num_heads=4, intermediate_size=4 * width, hidden_dropout=dropout
    )


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(ROWS)
    return path


def test_what_is_given_stays_and_what_is_open_is_settled_and_told():
    asked = task_recipe("tagging")
    taken = with_epochs(with_rate_and_dropout(asked, shape(256, 2)), 6_835, knows_task=False)
    assert (taken.training.learning_rate, taken.hidden_dropout) == (usual_rate(256, 2), 0.0)
    assert taken.training.length == ("num_epochs", rule.EPOCHS)
    said = explained(asked, taken, shape(256, 2), 6_835, knows_task=False)
    rate = shown_rate(usual_rate(256, 2))
    assert f"rate {rate} for 2 layers 256 wide; {rule.EPOCHS} epochs for 6,835 examples; no dropout" in said

    given = override(asked, ["training.learning_rate=7e-4", "training.num_epochs=2", "hidden_dropout=0.3"])
    assert with_epochs(with_rate_and_dropout(given, shape(256, 2)), 6_835, knows_task=True) == given
    assert explained(given, given, shape(256, 2), 6_835, knows_task=True) == ""

    part = override(asked, ["training.learning_rate=7e-4"])
    taken = with_epochs(with_rate_and_dropout(part, shape(768, 12)), 10, knows_task=False)
    said = explained(part, taken, shape(768, 12), 10, knows_task=False)
    assert said == "Taught as usual: 300 epochs for 10 examples, so that there are 300 steps; dropout 0.1."
    bare = shape(768, 22, dropout=0.0)
    taken = with_epochs(with_rate_and_dropout(part, bare), 9_999, knows_task=False)
    assert explained(part, taken, bare, 9_999, knows_task=False).endswith("no dropout, as it was pre-trained.")


def test_questions_for_a_model_that_knows_the_task_are_read_twice_however_few_they_are():
    asked, names = (with_rate_and_dropout(task_recipe(name), shape(256, 2)) for name in ("qa", "tagging"))
    for count in (10, 100_000):
        taken = with_epochs(asked, count, knows_task=True)
        assert taken.training.num_epochs == 2
        said = explained(task_recipe("qa"), taken, shape(256, 2), count, knows_task=True)
        assert f"2 epochs for {count:,} examples, as the model has learned this task before" in said
        assert with_epochs(names, count, knows_task=True) == with_epochs(names, count, knows_task=False)
    assert with_epochs(asked, 10, knows_task=False).training.num_epochs == 300


def test_rates_are_shown_as_people_write_them():
    assert [shown_rate(rate) for rate in (3e-5, 6.6e-4, 1e-3)] == ["3e-5", "6.6e-4", "1e-3"]


def test_first_recipes_are_open_and_no_named_system_is():
    papers = {"spanbert", "spanbert-cola", "gpt-1", "roberta", "albert", "electra", "electra-large", "splinter"}
    papers |= {"splinter-few", "bert", "spanbert-base", "spanbert-large", "bert-base", "bert-large"}
    for task in TASKS:
        names = list(recipes_of(task))
        assert names[0] not in papers
        for name in names:
            recipe = task_recipe(task, name)
            is_open = recipe.training.learning_rate == "auto" and recipe.hidden_dropout == "auto"
            assert is_open == (name not in papers), (task, name)


def test_finetune_takes_tells_and_records_them_and_a_resume_computes_nothing_anew(
    pretrained_folder, texts, tmp_path, monkeypatch
):
    said, out = io.StringIO(), tmp_path / "run"
    asked = {"model": pretrained_folder, "train": texts, "out": out}
    monkeypatch.setattr(rule, "LEAST_STEPS", 5)
    run = finetune("classification", **asked, log=RunLog(out, stream=said))
    assert (run.training.steps, run.recipe.training.learning_rate, run.recipe.hidden_dropout) == (5, 1e-3, 0.0)
    told = "rate 1e-3 for 2 layers 32 wide; 5 epochs for 4 examples, so that there are 5 steps; no dropout"
    assert told in said.getvalue()
    record = json.loads((out / "recipe.json").read_text())["recipe"]
    training = record["training"]
    assert (training["learning_rate"], training["num_epochs"], record["hidden_dropout"]) == (1e-3, 5, 0)
    assert read_plan(out / "plan.jsonl")[0][-1].total_steps == 5

    monkeypatch.setattr(rule, "LEAST_STEPS", 9)
    monkeypatch.setattr(rule, "HIGHEST_RATE", 1e-4)
    again = finetune("classification", **asked, resume=True)
    assert (again.training.steps, again.recipe) == (5, run.recipe)
    with pytest.raises(ConfigError, match=r"training\.learning_rate: 0\.001 -> 0\.01"):
        finetune("classification", **asked, resume=True, overrides=["training.learning_rate=1e-2"])
    (out / "recipe.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"recipe\.json can't be read"):
        finetune("classification", **asked, resume=True)


def test_a_reader_that_goes_on_reads_few_questions_twice_and_its_base_until_it_knows_how(tmp_path, monkeypatch):
    question = {"id": "1", "question": "서울은?", "answers": [{"text": "한강", "answer_start": 3}]}
    article = {"title": "강", "paragraphs": [{"context": "서울 한강", "qas": [question]}]}
    (tmp_path / "train.json").write_text(json.dumps({"version": "1.1", "data": [article]}))
    monkeypatch.setattr(rule, "LEAST_STEPS", 6)
    told = "2 epochs for 1 examples, as the model has learned this task before"
    for name, epochs in (("reader", 2), ("base", 6)):
        said, out = io.StringIO(), tmp_path / name
        asked = {"model": "spanwise-nano-ko", "train": tmp_path / "train.json", "from_base": name == "base"}
        run = finetune("qa", **asked, out=out, log=RunLog(out, stream=said))
        assert (run.recipe.training.num_epochs, run.training.steps) == (epochs, epochs)
        assert (told in said.getvalue()) == (name == "reader")


def test_a_run_of_a_version_without_the_rule_goes_on_as_it_began(pretrained_folder, texts, tmp_path):
    old = task_recipe("classification", "spanbert")
    old = replace(old, training=replace(old.training, num_epochs=2))
    asked = {"model": pretrained_folder, "train": texts, "out": tmp_path / "run"}
    finetune("classification", **asked, recipe=old)
    again = finetune("classification", **asked, resume=True)  # today's default, which leaves all of it open
    assert again.recipe == old


def test_open_values_are_refused_where_nothing_settles_them():
    options = TrainingOptions(learning_rate="auto", max_steps=3)
    with pytest.raises(ConfigError, match=r"training\.learning_rate is auto, which fine-tuning alone settles"):
        _ = options.peak_rate
    with pytest.raises(ConfigError, match=r"training\.num_epochs is auto"):
        _ = TrainingOptions(num_epochs="auto").length
    with pytest.raises(ConfigError, match="learning_rate"):
        TrainingOptions(learning_rate="soon")
