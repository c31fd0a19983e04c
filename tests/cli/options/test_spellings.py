"""Other projects' option names are answered with ours."""

import pytest

from spanwise.cli.main import main
from spanwise.cli.options.spellings import find_empty, suggest_option


@pytest.mark.parametrize(
    ("argument", "ours"),
    [
        ("--output_dir", "--out"),
        ("--model-name-or-path=x", "--model"),
        ("--num_train_epochs=3", "--set training.num_epochs"),
        ("--learning-rate", "--set training.learning_rate"),
        ("--resume_from_checkpoint", "--resume"),
        ("--mlm-probability", "--set masking.ratio"),
        ("--num-hidden-layers", "--set encoder.num_layers"),
        ("--hidden-dropout", "--set encoder.hidden_dropout"),
        ("--per-device-train-batch-size", "--set batch.tokens_per_step"),
        ("--batch-size", "--set batch.tokens_per_step"),
        ("--max-seq-length", "--set format.max_length"),
    ],
)
def test_a_hugging_face_spelling_names_our_option(argument, ours):
    assert ours in suggest_option("pretrain", [argument, "3"])


@pytest.mark.parametrize(
    ("argument", "ours"),
    [
        ("--per_device_train_batch_size", "--set batch_size"),
        ("--hidden-dropout", "--set hidden_dropout"),
        ("--doc-stride", "--set task.doc_stride"),
        ("--max_seq_length", "--set task.max_length"),
        ("--learning-rate", "--set training.learning_rate"),
    ],
)
def test_fine_tuning_has_places_of_its_own(argument, ours):
    assert ours in suggest_option("finetune", [argument, "3"])


def test_every_place_that_is_suggested_exists():
    from spanwise.config.overrides import override
    from spanwise.recipes import spanbert_tiny
    from spanwise.tasks.registry import task_recipe

    values = {"num_layers": 3, "hidden_dropout": 0.2, "ratio": 0.2, "tokens_per_step": 9000, "max_length": 64}
    for argument, ours in [("num_hidden_layers", "num_layers"), ("mlm_probability", "ratio"), ("hidden_dropout",) * 2]:
        place = suggest_option("pretrain", [f"--{argument}"]).partition("--set ")[2].partition("=")[0]
        override(spanbert_tiny(), [f"{place}={values[ours]}"])
    for argument in ("doc_stride", "max_seq_length", "n_best_size", "batch_size"):
        place = suggest_option("finetune", [f"--{argument}"]).partition("--set ")[2].partition("=")[0]
        override(task_recipe("qa"), [f"{place}=32"])


def test_our_own_and_unheard_of_options_get_no_suggestion():
    assert suggest_option("pretrain", ["--out", "x", "--zebra", "learning_rate"]) == ""


@pytest.mark.parametrize(("command", "argument"), [("pretrain", "--doc-stride"), ("finetune", "--mlm-probability")])
def test_a_value_that_the_recipes_of_a_command_lack_is_not_suggested(command, argument):
    assert suggest_option(command, [argument]) == ""


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        (["pretrain", "spanbert-tiny", "--out", "x", "--keep", "2", "--zebra", "3"], ""),
        (["pretrain", "spanbert-tiny", "--keep", "2", "--output_dir", "x"], "What others call --output_dir"),
        (["pretrain", "spanbert-tiny", "--out", "x", "--batch-size", "32"], "--set batch.tokens_per_step=VALUE"),
        (["finetune", "qa", "--keep", "2"], ""),
    ],
)
def test_only_what_a_command_could_not_read_is_answered(arguments, ours, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert ours in said and ("What others" in said or "Values of a recipe" in said) == bool(ours)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prepare", "text", "--out", ""], "The argument after --out is empty"),
        (["prepare", "text", "--out="], "--out has an empty value"),
        (["ask", "", "Who?"], "The argument after ask is empty"),
        ([""], "The argument after spanwise is empty"),
    ],
)
def test_an_empty_argument_is_refused_for_it_would_mean_the_current_folder(arguments, said, capsys):
    assert find_empty(arguments).startswith(said)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_an_empty_value_of_a_recipe_is_none_of_an_option():
    assert find_empty(["pretrain", "spanbert-tiny", "--set", "tags=", "--set=tags=", "-"]) == ""
