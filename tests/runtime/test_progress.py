"""The log is valid JSON whatever is logged, agrees with the checkpoint, and a closed pipe stops nothing."""

import contextlib
import io
import json
import os

import pytest
import torch

from spanwise.errors import SpanwiseError
from spanwise.runtime.progress import Gauge, RunLog, finite, read_metrics, training_line

RECORD = {
    "step": 1200,
    "total_steps": 5000,
    "losses": {"mlm": 6.1234, "sbo": 6.5},
    "learning_rate": 1e-4,
    "tokens_per_second": 12345.6,
    "seconds_left": 3725.0,
}


def test_each_line_is_json_with_finite_numbers(tmp_path):
    with RunLog(tmp_path) as log:
        log.write({"step": 1, "loss": float("nan"), "deep": {"x": [float("inf"), 1.5]}, "t": torch.tensor(2.0)})
        log.write({"step": 2, "loss": 0.1})

    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == [
        {"step": 1, "loss": None, "deep": {"x": [None, 1.5]}, "t": 2.0},
        {"step": 2, "loss": 0.1},
    ]


def test_numbers_keep_every_bit():
    value = 0.1 + 0.2
    assert json.loads(json.dumps(finite({"x": value})))["x"] == value


def test_lines_after_the_resumed_step_and_a_line_cut_by_a_crash_are_forgotten(tmp_path):
    with RunLog(tmp_path) as log:
        for step in (10, 20, 30):
            log.write({"step": step})
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 4')

    log = RunLog(tmp_path)
    log.cut_after(20)
    log.write({"step": 30, "again": 1})
    log.close()

    assert read_metrics(tmp_path / "metrics.jsonl") == [{"step": 10}, {"step": 20}, {"step": 30, "again": 1}]


@pytest.mark.parametrize(
    "line",
    [
        *("null", "[1]", '{"step": "x"}', '{"losses": 5}', '{"step": true}', "{", "[" * 100_000),
        *('{"losses": {"mlm": "a"}}', '{"step": -4}', '{"step": 1e999}', '{"tokens_per_second": []}'),
        *('{"epochs": {"a": "b"}}', '{"epoch": "x"}', '{"time": {"data": [1]}}', '{"loss": "x"}'),
    ],
)
def test_a_line_that_is_no_record_is_left_out_and_told(tmp_path, line, caplog):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n' + line + '\n{"step": 2}\n')
    assert read_metrics(tmp_path / "metrics.jsonl") == [{"step": 1}, {"step": 2}]
    assert "metrics.jsonl: damaged lines are left out (2)" in caplog.text

    stream = io.StringIO()
    assert RunLog(tmp_path, stream=stream).cut_after(5) == 2
    assert "metrics.jsonl: damaged lines are left out (2)" in stream.getvalue()
    again = io.StringIO()
    assert RunLog(tmp_path, stream=again).cut_after(5) == 2 and not again.getvalue()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")
def test_a_full_disk_names_the_file_and_closing_the_log_says_nothing_else(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(SpanwiseError, match=r"metrics\.jsonl: the disk is full"), RunLog(tmp_path) as log:
        log.write({"step": 1})


def test_a_person_sees_one_plain_line_per_record_off_a_terminal():
    stream = io.StringIO()
    log = RunLog(None, stream=stream)
    log.show(RECORD)
    log.say("saved [bold]x[/bold]")

    assert stream.getvalue() == (
        "step 1,200/5,000  mlm 6.123  sbo 6.500  lr 1.00e-04  12,346 tokens/s  1:02:05 left\nsaved [bold]x[/bold]\n"
    )


def test_a_line_says_where_the_time_went_and_a_live_one_is_brief():
    times = {"data": 0.001, "forward": 4.0, "backward": 5.0, "optimizer": 0.9, "other": 0.099, "total": 10.0}
    record = {"step": 3, "time": times, "padding_share": 0.0123, "flop_utilisation": 0.704}

    assert training_line(record) == (
        "step 3  padding 1.2 %  70 % of peak  time: forward 40, backward 50, optimizer 9, other 1 %"
    )
    assert training_line(record, brief=True) == "step 3"


def test_a_live_line_shows_the_same_words():
    stream = io.StringIO()
    with RunLog(None, stream=stream, display="live") as log:
        log.show(RECORD)
        log.say("evaluation [0, 1]")
    assert "evaluation [0, 1]" in stream.getvalue()


@pytest.mark.parametrize("display", ["plain", "live"])
def test_a_closed_pipe_silences_the_lines_and_stops_nothing(tmp_path, display):
    read, write = os.pipe()
    stream = os.fdopen(write, "w")
    os.close(read)
    log = RunLog(tmp_path, stream=stream, display=display)
    for step in range(50):
        log.show({**RECORD, "step": step})
        log.say("x" * 10_000)
        log.write({"step": step})
    log.close()
    with contextlib.suppress(BrokenPipeError):
        stream.close()
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 50


def test_a_line_without_numbers_is_still_a_line():
    assert training_line({"step": 3}) == "step 3"


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or that its reader has gone."""

    broken = False

    def isatty(self):
        return True

    def write(self, text):
        if self.broken:
            raise BrokenPipeError
        return super().write(text)


def test_a_gauge_tells_what_is_done_how_fast_and_how_long_it_takes_yet(monkeypatch):
    clock = iter([100.0, 102.0, 104.0, 106.0, 108.0])
    monkeypatch.setattr("spanwise.runtime.progress.time.monotonic", lambda: next(clock))
    gauge = Gauge("encoding", "MB", stream=Terminal(), display="live")
    updates = []
    monkeypatch.setattr(gauge._bar, "update", lambda task, **values: updates.append(values))
    gauge.expect(400)
    assert list(gauge.over([100, 60], float)) == [100, 60]
    assert updates == [
        {"completed": 100.0, "total": 400.0, "said": "100 MB  50.0 MB/s"},
        {"completed": 160.0, "total": 400.0, "said": "160 MB  40.0 MB/s"},
    ]
    gauge.__exit__()


def test_a_gauge_is_seen_on_a_terminal_and_silent_elsewhere(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    seen, unseen = Terminal(), io.StringIO()
    for stream in (seen, unseen):
        with Gauge("encoding", "MB", stream=stream) as gauge:
            gauge.expect(2)
            gauge.add(1)
    assert "encoding" in seen.getvalue() and unseen.getvalue() == ""


def test_a_gauge_without_a_reader_stops_nothing(monkeypatch):
    monkeypatch.setattr("spanwise.runtime.progress.SECONDS_BETWEEN_UPDATES", 0.0)
    stream = Terminal()
    with Gauge("encoding", "MB", stream=stream, display="live") as gauge:
        stream.broken = True
        assert list(gauge.over(range(30), float)) == list(range(30))


def test_what_followed_a_checkpoint_at_its_own_step_is_forgotten_too(tmp_path):
    """A run that was killed between its last evaluation and its end evaluates again, and logs it once."""
    log = RunLog(tmp_path)
    log.write({"step": 1, "loss": 2.0})
    log.write({"step": 2, "loss": 1.0})  # the checkpoint of step 2 is written here
    log.write({"step": 2, "evaluation": {"loss": 1.5}})
    assert log.cut_after(2, 2) == 2 and len(read_metrics(log.path)) == 2
