"""The judge keeps the start first, then what is better by more than its error within the bound."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.adapt.toy_losses import level, losses
from torch import nn

from spanwise.adapt.judge import Judge, TimeLimit, TooShort
from spanwise.errors import CheckpointError


class Script:
    """A held-out text whose losses are given, one measurement after the other."""

    num_tokens = 1_000

    def __init__(self, *measurements):
        self.left = list(measurements)

    def losses(self, model, device, precision):
        return losses(self.left.pop(0))


def judge_of(own, general, tmp_path, **options):
    saved = []

    def save(folder, check):
        weight = f", weight {ready.model.weight.item():.3f}"
        (folder / "model").write_text("start" if check is None else f"step {check.step}{weight}")
        saved.append(None if check is None else check.step)

    ready = SimpleNamespace(
        model=nn.Linear(1, 1, bias=False), recipe=SimpleNamespace(training=SimpleNamespace(precision="auto"))
    )
    nn.init.zeros_(ready.model.weight)
    texts = {"own": Script(*own), "general": Script(*general)}
    usual = {"unit": "token", "bound": 0.02, "device": None, "before": None}
    judge = Judge(ready, texts, tmp_path / "best", save=save, **{**usual, **options})
    return judge, saved


def run(judge, count):
    for step in range(count):
        judge.step = 10 * step
        judge()


def test_the_lowest_own_loss_within_the_bound_is_kept_whole_or_in_part(tmp_path):
    own = [level(v) for v in (4.0, 3.8, 3.9, 3.6, 3.5, 3.7, 3.6)]  # every second one is of a part
    general = [level(v) for v in (3.0, 3.01, 3.0, 3.02, 3.01, 3.0, 3.0)]
    judge, saved = judge_of(own, general, tmp_path)
    judge()
    for step in (10, 20, 30):
        nn.init.ones_(judge._ready.model.weight)
        judge.step = step
        judge()
    assert saved == [None, 10, 20, 20] and (tmp_path / "best" / "model").read_text() == "step 20, weight 0.750"
    checks = judge.memory["checks"]
    assert [(check["share"], check["is_kept"]) for check in checks] == [
        (1, True), (0.75, False), (1, True), (0.75, True), (1, False), (0.75, False)
    ]  # fmt: skip
    assert judge.after["own"].mean("token") == pytest.approx(3.5) and judge.before["own"].mean("token") == 4.0


def test_where_general_text_loses_too_much_so_much_of_the_way_is_measured_as_is_within_the_bound(tmp_path):
    own = [level(v) for v in (4.0, 3.4, 3.7, 3.8, 3.6, 4.1)]  # a part after 3.4 and, though it is no gain, 3.8
    general = [level(v) for v in (3.0, 3.24, 3.05, 3.24, 3.05, 3.3)]  # none where own text has lost
    judge, saved = judge_of(own, general, tmp_path)
    judge()
    for step in (10, 20, 30):
        nn.init.ones_(judge._ready.model.weight)
        judge.step = step
        judge()
        assert judge._ready.model.weight.item() == 1.0
    assert saved == [None, 10, 20] and (tmp_path / "best" / "model").read_text() == "step 20, weight 0.444"
    checks = judge.memory["checks"]
    assert [(check["step"], round(check["share"], 2), check["is_kept"]) for check in checks] == [
        (10, 1, False), (10, 0.45, True), (20, 1, False), (20, 0.44, True), (30, 1, False)
    ]  # fmt: skip
    assert judge.after["own"].mean("token") == pytest.approx(3.6)


def test_no_part_is_measured_where_time_or_an_error_to_judge_by_is_lacking(tmp_path):
    own, general = [level(4.0), level(3.0)], [level(3.0), level(3.3)]
    limit = TimeLimit(seconds=1e9, began=time.perf_counter(), tokens_per_step=1)
    judge, saved = judge_of(own, general, tmp_path, limit=limit)
    judge()
    judge._limit = replace(limit, seconds=0.0)
    judge.step = 10
    judge()
    assert saved == [None] and len(judge.memory["checks"]) == 1
    judge, saved = judge_of([[4.0], [3.0]], [[3.0], [3.3]], tmp_path / "one")
    run(judge, 2)
    assert saved == [None] and len(judge.memory["checks"]) == 1


def test_what_is_better_by_less_than_its_error_is_no_win(tmp_path):
    own = [level(4.0), [4.1, 3.5, 4.3, 3.9, 4.1]]  # lower on average, by one document
    judge, saved = judge_of([*own, own[0]], [level(3.0)] * 3, tmp_path)
    run(judge, 2)
    assert saved == [None] and judge.memory["checks"][0]["gain"] > 0 > judge.memory["checks"][0]["low"]
    assert judge.after["own"].mean("token") == judge.before["own"].mean("token")


def test_a_start_with_another_vocabulary_is_measured_by_its_own(tmp_path):
    before = {"own": losses(level(3.0)), "general": losses(level(3.0))}
    own = [level(5.0), level(3.5)]  # better than with untaught new pieces, worse than the start
    judge, saved = judge_of(own, [level(3.0)] * 2, tmp_path, before=lambda: before, unit="character")
    run(judge, 2)
    assert saved == [None] and judge.before["own"].mean("character") == pytest.approx(1.5)


def test_a_judge_that_goes_on_decides_by_what_it_remembers(tmp_path):
    own = [level(v) for v in (4.0, 3.6, 3.7, 3.7, 3.7, 3.5, 3.7)]
    general = [level(3.0)] * 7
    judge, _ = judge_of(own, general, tmp_path)
    run(judge, 2)
    other, saved = judge_of(own[3:], general[3:], tmp_path)
    other.memory = judge.memory
    other.step = 20
    other()
    other.step = 30
    other()
    assert saved == [30] and [check["step"] for check in other.memory["checks"]] == [10, 10, 20, 20, 30, 30]


@pytest.mark.parametrize(("seconds", "is_enough"), [(11.9, False), (12.1, True)])
def test_time_that_is_over_before_anything_else_is_measured_is_told_once_the_start_is_kept(
    seconds, is_enough, tmp_path, monkeypatch
):
    """2 s are used when 1,000 tokens took 0.5 s; to measure takes 1 s and three steps of 2,000 tokens 9 s more."""
    monkeypatch.setattr(time, "perf_counter", iter([100.0, 101.0, 101.5, 102.0, 102.0, *range(200, 300)]).__next__)
    limit = TimeLimit(seconds=seconds, began=100.0, tokens_per_step=2_000)
    judge, saved = judge_of([level(4.0), level(3.5), level(4.0)], [level(3.0)] * 3, tmp_path, limit=limit)
    if is_enough:
        run(judge, 2)
        assert saved == [None, 10]
        return
    with pytest.raises(
        TooShort,
        match=r"12 s of this run are too few: to begin and to measure the start took 2\.0 s here, and 12 s pass",
    ):
        judge()
    assert saved == [None] and judge.memory["checks"] == [] and judge.before == judge.after


def test_it_cannot_be_made_anew_from_a_log(tmp_path):
    judge, _ = judge_of([], [], tmp_path)
    with pytest.raises(CheckpointError, match="holds no measurements"):
        judge.recall([])
