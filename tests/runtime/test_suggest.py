"""Wrong names are answered with the right one."""

import pytest

from spanwise.runtime.suggest import FOREIGN_SPELLINGS, did_you_mean, nearest
from spanwise.training.plan import TrainingOptions

NAMES = list(TrainingOptions.__dataclass_fields__)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("lr", "learning_rate"),
        ("num_train_epochs", "num_epochs"),
        ("warmup_ratio", "warmup_steps"),
        ("adam_eps", "adam_epsilon"),
        ("save_total_limit", "keep"),
        ("learningrate", "learning_rate"),
        ("max_step", "max_steps"),
        ("zzzz", ""),
    ],
)
def test_the_nearest_of_our_names_is_found(word, ours):
    assert nearest(word, NAMES) == ours
    assert nearest(f"training.{word}", [f"training.{name}" for name in NAMES]) == (f"training.{ours}" if ours else "")


def test_a_changed_meaning_is_explained_beside_the_name():
    assert did_you_mean("warmup_ratio", NAMES).endswith("warmup_steps=0.06)")
    assert did_you_mean("per_device_train_batch_size", ["tokens_per_step"]).count("131072") == 1
    assert did_you_mean("zzzz", NAMES) == ""


def test_no_foreign_spelling_is_one_of_our_own_names():
    assert not set(FOREIGN_SPELLINGS) & set(NAMES)
