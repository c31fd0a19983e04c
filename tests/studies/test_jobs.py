"""Models side by side: the same figures as in turn, parts of a user's own file, and nothing left running."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from toy_studies import toy_study

from spanwise.errors import ConfigError, SpanwiseError
from spanwise.runtime.lock import try_lock
from spanwise.studies import run_study
from spanwise.studies.catalogue import find_study
from spanwise.studies.jobs import _hear, own_modules
from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens

OWN = """
from dataclasses import dataclass, replace
import sys
sys.path.insert(0, {toy!r})
from toy_studies import toy_recipe
from spanwise.pretraining.masking import GeometricSpans
from spanwise.studies import Study
from spanwise.studies.probes import MaskedTokens

@dataclass(frozen=True, kw_only=True)
class Mine(GeometricSpans):
    pass

def mine():
    arms = dict(usual=toy_recipe("usual"), mine=toy_recipe("mine", masking=Mine(p=0.5)))
    probes = (MaskedTokens(max_tokens=200),)
    return Study(name="mine", question="?", arms=arms, tokens=600, probes=probes, control="none")
"""


@pytest.mark.slow
def test_a_process_finds_the_parts_of_a_users_file_and_gives_the_figures_of_this_one(tiny_store, tmp_path):
    (tmp_path / "my_study.py").write_text(OWN.format(toy=str(Path(__file__).parent)))
    study = find_study(f"{tmp_path / 'my_study.py'}:mine")
    data = {"data": tiny_store.path, "valid": tiny_store.path, "seeds": 1}
    plan = plan_study(study, out=tmp_path / "plan", **data)
    assert own_modules(plan) == {"my_study": str(tmp_path / "my_study.py")}
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from my_study import mine\nfrom spanwise.studies import run_study\n"
        f"store = {str(tiny_store.path)!r}\n"
        f"run_study(mine(), out={str(tmp_path / 'one')!r}, data=store, valid=store, seeds=1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # a process that has computed nothing before, as jobs are
    in_turn = run_study(study, out=tmp_path / "one", **data).record.figures
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    shutil.rmtree(tmp_path / "two" / "mine-0")  # what is done is not done again: one model is left, for one process
    (tmp_path / "two" / "measures" / "masked-tokens" / "mine-0.json").unlink()
    kept = (tmp_path / "two" / "usual-0" / "metrics.jsonl").stat().st_mtime_ns
    beside = run_study(study, out=tmp_path / "two", jobs=2, **data).record.figures
    assert (tmp_path / "two" / "usual-0" / "metrics.jsonl").stat().st_mtime_ns == kept
    assert [figure.arms for figure in beside] == [figure.arms for figure in in_turn]


def test_a_process_that_died_before_it_read_what_to_do_is_told():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    ours.send("a unit")
    theirs.close()  # unread: the pipe is reset, not ended
    with pytest.raises(SpanwiseError, match=r"worked on mlm-0 died \(status 0\)"):
        _hear(ours, process, Unit(of="mlm", seed=0))


def test_no_job_is_refused(tiny_store, tmp_path):
    with pytest.raises(ConfigError, match="--jobs 0"):
        run_study(toy_study(), data=tiny_store.path, out=tmp_path / "out", jobs=0)


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_jobs import long_study
from spanwise.studies import run_study
if __name__ == "__main__":
    run_study(long_study(), data=sys.argv[2], valid=sys.argv[2], out=sys.argv[3], seeds=2, jobs=2)
"""


def long_study():
    return toy_study(tokens=2_000_000, probes=(MaskedTokens(max_tokens=200),))


@pytest.mark.slow
def test_processes_whose_parent_is_killed_save_and_leave(tiny_store, tmp_path):
    out, script = tmp_path / "out", tmp_path / "killed.py"
    script.write_text(KILLED)
    arguments = [str(Path(__file__).parent), str(tiny_store.path), str(out)]
    process = subprocess.Popen([sys.executable, str(script), *arguments])
    while len(list(out.glob("*-0/metrics.jsonl"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 60
    while held(out) and time.monotonic() < until:
        time.sleep(0.05)
    assert not held(out)
    assert list(out.glob("*-0/checkpoints/step-*"))  # what they had done is saved


def held(out: Path) -> list[str]:
    """The runs that a living process holds."""
    names = []
    for lock in out.glob("*/LOCK"):
        descriptor = try_lock(lock)
        if descriptor is None:
            names.append(lock.parent.name)
        else:
            os.close(descriptor)
    return names


def test_a_study_can_be_sent_to_another_process(tiny_store, tmp_path):
    import pickle

    plan = plan_study(
        replace(toy_study(), probes=(MaskedTokens(),)), data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "x"
    )
    assert pickle.loads(pickle.dumps(plan)) == plan
