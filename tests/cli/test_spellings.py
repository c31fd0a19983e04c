"""Other projects' option names are answered with ours."""

import pytest

from spanwise.cli.spellings import suggest_option


@pytest.mark.parametrize(
    ("argument", "ours"),
    [
        ("--output_dir", "--out"),
        ("--model-name-or-path=x", "--model"),
        ("--num_train_epochs=3", "--set training.num_epochs"),
        ("--learning-rate", "--set training.learning_rate"),
        ("--resume_from_checkpoint", "--resume"),
    ],
)
def test_a_hugging_face_spelling_names_our_option(argument, ours):
    assert ours in suggest_option(["pretrain", argument, "3"])


def test_our_own_and_unheard_of_options_get_no_suggestion():
    assert suggest_option(["pretrain", "--out", "x", "--zebra", "learning_rate"]) == ""
