"""A record as results.py makes it, written by hand: two arms, three seeds, a figure of each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spanwise.studies.budget import Budget
from spanwise.studies.record import (
    ArmRecord,
    Column,
    Curve,
    MeasuredFigure,
    PairDifference,
    Points,
    RunCosts,
    StudyRecord,
    TextRecord,
)
from spanwise.studies.results import NO_HEAD
from spanwise.studies.statistics import SeedValues, seed_difference, seed_mean

SEEDS = (0, 1, 2)


def column(*values: float | None, reason: str = "") -> SeedValues:
    found = {seed: value for seed, value in zip(SEEDS, values, strict=False) if value is not None}
    return SeedValues(values=found, missing={seed: reason for seed in SEEDS if seed not in found})


def figure(key: str, a: SeedValues, b: SeedValues, control: SeedValues, **values: Any) -> MeasuredFigure:
    better = values.get("better", "higher")
    differences = [
        PairDifference(ours=ours, other=other, **vars(seed_difference(first, second, better=better)))
        for ours, other, first, second in (
            ("a", "random weights", a, control),
            ("b", "a", b, a),
            ("b", "random weights", b, control),
        )
    ]
    fields = {
        "probe": "chunks",
        "key": key,
        "label": f"label of {key}",
        "unit": "%",
        "better": better,
        "main": True,
        "baselines": {},
        "controls": {"a": Column(values={}, **vars(seed_mean(control)))},
        "arms": {name: Column(values={}, **vars(seed_mean(found))) for name, found in (("a", a), ("b", b))},
        "differences": differences,
    }
    return MeasuredFigure(**{**fields, **values})


def toy_record(**values: Any) -> StudyRecord:
    control = column(10.0, 11.0, 12.0)
    figures = [
        figure("f1", column(50.0, 51.0, 52.0), column(60.0, 61.5, 62.0), control),
        figure("broken", column(50.0, 51.0, 52.0), column(60.0, 61.0, reason="b-2 diverged"), control),
        figure("lacking", column(reason=NO_HEAD), column(1.0, 2.0, 3.0), control, main=False),
        figure("nowhere", column(reason=NO_HEAD), column(reason=NO_HEAD), control, main=False),
        figure("loss", column(3.0, 3.1, 3.2), column(2.0, 2.1, 2.3), control, unit="nats", better="lower"),
    ]
    run = RunCosts(state="finished", steps=9, tokens=900, seconds=2.0, flops=1e9, probe_seconds=1.0)
    bad = replace(run, state="diverged", why="not-a-number at step 3")
    arm = ArmRecord(
        recipe={}, differs=(), parameters=1_000_000, tokens=900, flops_per_token=1e6, runs=dict.fromkeys("012", run)
    )
    other = replace(arm, parameters=2_000_000, differs=[("masking.p", 0.2, 0.3)], runs={"0": run, "1": run, "2": bad})
    held_out = Points(tokens=[0.0, 900.0], mean=[5.0, 3.6])
    curve = Curve(tokens=[0.0, 450.0, 900.0], mean=[5.0, 4.0, 3.5], num_seeds=3, held_out=held_out)
    text = TextRecord(store="x", sha256="aa", num_tokens=1000, num_documents=3, vocabulary=300, valid=None)
    record = StudyRecord(
        study="toy",
        question="Is b <b>better</b> | than a?",
        notes=["A note."],
        command="spanwise study toy --out x",
        seeds=SEEDS,
        budget=Budget(kind="tokens", tokens={"a": 900, "b": 900}),
        control="random weights",
        text=text,
        machine={"processor": "x", "cores": 2, "torch": "2", "spanwise": "0"},
        arms={"a": arm, "b": other},
        control_of={"a": "a", "b": "a"},
        figures=figures,
        curves={"mlm": {"a": curve}},
        probes={},
        probe_files={"chunks": {"train": {"name": "train.txt", "sha256": "aa"}}, "masked-tokens": {}},
        measured_where=[{"device": "cpu", "torch": "2"}, {"device": "cuda", "torch": "3"}],
        starts_from_text=["b"],
    )
    return replace(record, **values)
