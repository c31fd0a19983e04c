"""The usual way at toy size: a person's text, adapted to, measured and asked, before and after beside all controls."""

import io
import os
import shlex
import signal
import time
from dataclasses import replace

import pytest
from rich.console import Console

import spanwise.quickstart.adapting.run as adapting
import spanwise.quickstart.run as job
from spanwise.adapt.options import Length
from spanwise.cli.main import main
from spanwise.data.prepare import prepare
from spanwise.errors import DataError, InterruptedAndSaved
from spanwise.interop.huggingface import read_folder
from spanwise.quickstart.adapting.asking import FEWEST
from spanwise.quickstart.adapting.division import Needs
from spanwise.quickstart.adapting.measured import SHOWN
from spanwise.quickstart.adapting.page import build_adapted_page
from spanwise.quickstart.bundle import WIKIPEDIA_LICENCE
from spanwise.quickstart.clock import StageClock
from spanwise.reporting.page import render
from spanwise.tasks.checkpoint import load_task_model
from spanwise.text.corpus import CorpusOptions
from spanwise.training.loop import _Loop
from spanwise.weights.learned_from import learned_by

BUDGET = 8.0


@pytest.fixture(scope="module")
def finished(tmp_path_factory, toys, towns):
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "LEAST_BUDGET", 1.0)
        patch.setitem(adapting.SHIPPED_FOR, "en", str(toys.start))
        patch.setattr(adapting, "Length", lambda seconds: Length(steps=40))  # as many on any machine
        result = job.quickstart(
            [towns],
            out=tmp_path_factory.mktemp("quickstart") / "out",
            budget=BUDGET,
            question="When did the town of Moss build bridge number 16?",
            console=Console(file=stream, width=100),
        )
    return result, stream.getvalue()


def test_every_measure_has_all_columns_with_errors_and_gains_over_the_start(finished):
    record = finished[0].record
    assert {measure.key for measure in record.measures} >= {"mlm_loss", "sbo_loss", "mlm_accuracy"}
    for measure in record.measures:
        assert set(measure.values) == {"unigram", "bigram", "control", "init", "trained"}
        assert measure.values["trained"].se is not None and measure.gains.get("init") is not None
    for measure in record.questions.measures:
        assert set(measure.values) == {"lexical", "control", "init", "trained"}
    assert [filled.ways for filled in record.filled] == [["before", "after", "control"]] * SHOWN
    assert record.adaptation.num_own_tokens > 0 and not record.questions.of_text


def test_a_learnable_text_is_learned(finished):
    record = finished[0].record
    loss = next(measure for measure in record.measures if measure.key == "mlm_loss")
    assert record.adaptation.is_adapted and record.adaptation.kept_step > 0
    assert loss.gains["init"].low > 0 and loss.gains["control"].low > 0


def test_the_terminal_and_the_page_say_what_came_of_it_and_markup_is_escaped(finished):
    result, shown = finished
    for words in ("before and after", "adapted", "by words", "Your text has only", "Next:", "report.html"):
        assert words in shown
    page = result.report.read_text(encoding="utf-8")
    assert "Your text has only" in page and "<b>every</b>" not in page
    assert [stage.name for stage in result.record.stages] == ["text", "adapt", "measure", "ask", "report"]
    assert result.record.answers[0].after.question.startswith("When did the town of Moss")
    part = replace(result.record, adaptation=replace(result.record.adaptation, kept_share=0.49))
    assert "of the way" not in page and "49% of the way from the start" in render(build_adapted_page(part))
    assert result.record.answers[0].after.context in " ".join(page.split()) or "bridge number" in page


def test_the_result_is_read_back_and_both_models_are_folders(finished, tmp_path):
    result = finished[0]
    again = job.rewrite_report(result.folder, tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == result.report.read_text(encoding="utf-8")
    assert job.read_record((result.folder / job.RESULT_NAME).read_bytes()) == result.record
    assert load_task_model(result.qa_model, "qa").model is not None
    assert "towns.txt" in [one.file for one in learned_by(read_folder(result.qa_model).record, "")]
    assert (result.model / "model.safetensors").is_file()


def test_a_start_that_was_kept_and_the_bundled_text_have_their_own_words(finished):
    record = finished[0].record
    kept = replace(record, adaptation=replace(record.adaptation, is_adapted=False))
    assert "kept as it came" in render(build_adapted_page(kept))
    assert "No step was better" in render(build_adapted_page(kept))
    bundled = replace(record, text=replace(record.text, source="bundled", bundle="ko"), language="ko")
    korean = render(build_adapted_page(bundled))
    assert "한국어 일상 글" in korean and "KoBEST" in korean


def test_a_text_too_small_leaves_the_folder_free(tmp_path):
    (tmp_path / "small.txt").write_text("One sentence alone.")
    for _ in range(2):
        with pytest.raises(DataError, match="too short"):
            job.quickstart([tmp_path / "small.txt"], out=tmp_path / "out", budget=20)


def test_a_stopped_adaptation_is_gone_on_with_by_the_command_it_told(toys, towns, tmp_path, monkeypatch):
    one_step = _Loop._one_step

    def interrupted(self, packs):
        one_step(self, packs)
        if self.state.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_Loop, "_one_step", interrupted)
    monkeypatch.setattr(job, "LEAST_BUDGET", 1.0)
    monkeypatch.setitem(adapting.SHIPPED_FOR, "en", str(toys.start))
    monkeypatch.setattr(adapting, "Length", lambda seconds: Length(steps=8))
    with pytest.raises(InterruptedAndSaved) as told:
        job.quickstart([towns], out=tmp_path / "my out", budget=6, seed=2)
    command = shlex.split(str(told.value).split("Go on with:")[1])

    assert main(command[command.index("adapt") :]) == 0
    out = tmp_path / "my out" / "adaptation"
    assert (out / "final" / "model.safetensors").is_file()
    learned = learned_by(read_folder(out / "checkpoints" / "step-000000008").record, "")
    assert [one.file for one in learned[-2:]] == ["towns.txt", "bundled wiki-train.txt.xz"]
    assert learned[-1].licence == WIKIPEDIA_LICENCE  # which the command does not say


def test_what_only_a_first_call_takes_leaves_a_short_text_its_time(toys, towns, tmp_path, monkeypatch):
    """As many seconds per character as its short kept-out part needs would be minutes for the general text."""

    class Begun(Exception):
        pass

    def slowly(*given):
        time.sleep(0.5)
        return prepare(*given)

    def begin(*given, options, **named):
        raise Begun(options.length.seconds)

    monkeypatch.setattr(adapting, "prepare", slowly)
    monkeypatch.setattr(adapting, "adapt", begin)
    monkeypatch.setattr(adapting, "try_needs", lambda *tried: Needs(measure=3.0, per_question=0.01, ask=4.0))
    monkeypatch.setitem(adapting.SHIPPED_FOR, "en", str(toys.start))
    with pytest.raises(Begun) as told:
        job.quickstart([towns], out=tmp_path / "out", budget=480, console=Console(file=io.StringIO()))
    assert told.value.args[0] > 430  # of 480; what measuring and asking do not need goes to adapting


def test_a_time_that_is_spent_before_measuring_ends_with_a_result(toys, towns, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "LEAST_BUDGET", 1.0)
    monkeypatch.setattr(adapting, "try_needs", lambda *tried: Needs(measure=1e3, per_question=1e3, ask=1e3))
    monkeypatch.setattr(StageClock, "left", property(lambda clock: -5.0))
    monkeypatch.setattr(adapting, "Length", lambda seconds: Length(steps=5))
    monkeypatch.setitem(adapting.SHIPPED_FOR, "en", str(toys.start))
    result = job.quickstart([towns], out=tmp_path / "out", budget=2, console=Console(file=io.StringIO()))
    assert result.record.adaptation.num_steps == 5 and result.record.questions.num_questions == FEWEST


def test_a_time_too_short_for_any_step_is_told_as_the_reason(toys, towns, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "LEAST_BUDGET", 1.0)
    monkeypatch.setitem(adapting.SHIPPED_FOR, "en", str(toys.start))
    monkeypatch.setattr(adapting, "Length", lambda seconds: Length(seconds=0.01))
    stream = io.StringIO()
    result = job.quickstart([towns], out=tmp_path / "out", budget=BUDGET, console=Console(file=stream, width=300))
    assert result.record.adaptation.num_steps == 0
    page = result.report.read_text(encoding="utf-8")
    assert "too short for a single step" in page and "longer --budget" in page and "No step was better" not in page
    assert "0 s of this run are too few" in stream.getvalue()
    assert "한 단계도 하지 못했고" in render(build_adapted_page(replace(result.record, language="ko")))


@pytest.mark.slow
@pytest.mark.parametrize(("language", "least"), [("en", 20), ("ko", 20)])
def test_the_bundled_text_is_learned_by_the_models_that_ship(language, least, tmp_path):
    stream = io.StringIO()
    result = job.quickstart(
        out=tmp_path / "out",
        budget=60,
        corpus=CorpusOptions(language=language),
        console=Console(file=stream, width=100),
    )
    record = result.record
    assert record.text.bundle == language and record.text.source == "bundled" and not record.text.notes
    assert record.questions.num_questions >= least and record.questions.of_text
    loss = next(measure for measure in record.measures if measure.key == "mlm_loss")
    assert loss.values["init"].value < loss.values["control"].value
    assert loss.values["trained"].value <= loss.values["init"].value
