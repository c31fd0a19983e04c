"""One adaptation in its parts: how much is measured, and what is left out of a call that was stopped."""

from dataclasses import replace
from pathlib import Path

import pytest

from spanwise.adapt.job import FEWEST_MEASURED, MOST_MEASURED, Job
from spanwise.adapt.options import AdaptationOptions, Length
from spanwise.adapt.texts import GENERAL, OWN, SourceText, split_text
from spanwise.data.token_store import TokenStore
from spanwise.runtime.progress import RunLog
from spanwise.text.corpus import CorpusOptions


@pytest.fixture
def job_of(start, own_text, general, tmp_path):
    def make(**length):
        options = AdaptationOptions(length=Length(**length))
        own = SourceText(name="own", texts=[own_text], corpus=CorpusOptions())
        job = Job(start, own, general, tmp_path / "out", options, device="cpu")
        job.check(allow_edited=False)
        return job

    return make


def test_measuring_takes_its_share_of_a_run_within_limits(job_of):
    assert job_of(steps=8).measured_tokens() == FEWEST_MEASURED
    assert job_of(steps=100).measured_tokens() == pytest.approx(0.2 * 100 * 4096 * 3 / 22, rel=0.01)
    assert job_of(steps=10**6).measured_tokens() == MOST_MEASURED
    assert job_of(seconds=1e-3).measured_tokens() == FEWEST_MEASURED
    assert job_of(seconds=1e6).measured_tokens() == MOST_MEASURED


def test_stores_of_a_call_that_was_stopped_are_made_anew(job_of, own_text, general):
    job = job_of(steps=8)
    left = job.out / "texts" / "own"
    left.mkdir(parents=True)
    (left / "half").write_text("a store that was not finished")
    known = job.prepare(job.asked(), split_text(OWN, job.own), split_text(GENERAL, general), RunLog(None))
    assert not (left / "half").exists()
    assert TokenStore.open(left).num_tokens == known.own.num_tokens


def test_a_call_is_known_by_the_contents_of_its_texts(job_of, own_text, tmp_path):
    job = job_of(steps=8)
    copy = Path(tmp_path / "copy.txt")
    copy.write_text(own_text.read_text())
    before = job.asked()
    job.own = replace(job.own, texts=[copy])
    assert job.asked() == before
    copy.write_text(own_text.read_text() + "\n\nOne more document.")
    assert job.asked()["own_text"] != before["own_text"]
    job.options = replace(job.options, seed=1)
    assert job.asked()["options"] != before["options"]
