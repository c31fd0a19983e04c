"""Records are plain JSON, unambiguous, and reading one never runs code."""

import enum
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise.config import ABSENT, difference, from_record, part, to_record
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.training.plan import TrainingOptions


class Kind(enum.Enum):
    ONE = "one"


@part("mine")
class Mine:
    rate: float = 0.1


@dataclass(frozen=True)
class PlainPart:
    """A user's class that does not use `part` at all."""

    size: int = 3


@part("system")
class System:
    objectives: dict[str, Any] = field(default_factory=lambda: {"mlm": Mine(), "sbo": Mine(rate=2)})
    training: TrainingOptions = field(default_factory=TrainingOptions)
    encoder: EncoderConfig | None = None
    lengths: tuple[int, ...] = (1, 2)
    plain: Any = None


def choose_words(sequence):
    return sequence


def test_records_survive_json_and_build_the_same_value():
    encoder = EncoderConfig(vocab_size=10, hidden_size=4, num_layers=1, num_heads=2, intermediate_size=8)
    system = System(encoder=encoder, plain=PlainPart(size=4))

    record = json.loads(json.dumps(to_record(system)))

    assert from_record(record, [TrainingOptions, EncoderConfig]) == system


def test_our_parts_are_recorded_by_name_and_a_users_by_module_and_class():
    record = to_record(System(plain=PlainPart()))

    assert record["training"]["part"] == "training"
    assert record["objectives"]["mlm"]["part"] == f"{__name__}:Mine"
    assert record["plain"]["part"] == f"{__name__}:PlainPart"


def test_functions_enums_paths_and_numpy_numbers_are_recorded():
    assert to_record(choose_words) == {"function": f"{__name__}:choose_words"}
    assert from_record(to_record(choose_words)) is choose_words
    assert to_record({"a": Kind.ONE, "b": Path("x"), "c": np.int64(3), "d": np.float32(0.5)}) == {
        "a": "one",
        "b": "x",
        "c": 3,
        "d": 0.5,
    }


@pytest.mark.parametrize("value", [lambda x: x, object(), float("inf"), {"part": 1}, {1: 2}])
def test_what_json_cannot_keep_is_refused(value):
    with pytest.raises(ConfigError):
        to_record(value)


def test_reading_a_record_never_imports_a_module(tmp_path, monkeypatch):
    (tmp_path / "evil_part.py").write_text("raise SystemExit('code ran')")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigError, match="Import evil_part first"):
        from_record({"part": "evil_part:Thing"})
    assert "evil_part" not in sys.modules
    for name in ("os:system", "builtins:eval", "subprocess:Popen"):
        with pytest.raises(ConfigError):
            from_record({"part": name, "args": "true"})


def test_unknown_parts_and_fields_get_the_nearest_name():
    with pytest.raises(ConfigError, match=r"'trainin'.*Did you mean 'training'"):
        from_record({"part": "trainin"}, [TrainingOptions])
    with pytest.raises(ConfigError, match=r"training\.lr is unknown.*Did you mean 'learning_rate'"):
        from_record({"part": f"{__name__}:System", "training": {"part": "training", "lr": 1}}, [TrainingOptions])


def test_a_difference_lists_every_path_with_both_values():
    old, new = System(), System(objectives={"mlm": Mine(rate=0.5)}, lengths=(1, 3))

    found = difference(old, new)

    assert ("objectives.mlm.rate", 0.1, 0.5) in found
    assert ("lengths", [1, 2], [1, 3]) in found
    assert ("objectives.sbo.rate", 2.0, ABSENT) in found
    assert difference(old, to_record(old)) == []
