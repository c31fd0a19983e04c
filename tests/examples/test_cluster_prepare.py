"""A corpus prepared by datatrove's executors is the local run's store, for any number of workers and after a kill."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.runtime.files import read_manifest
from spanwise.text.corpus import read_documents
from spanwise.text.learn import learn_tokenizer

SCRIPT = Path(__file__).parents[2] / "examples" / "cluster" / "prepare.py"
QUICKSTART = Path(__file__).parents[2] / "src" / "spanwise" / "quickstart" / "corpus"
SBATCH = """#!{python}
import os, re, subprocess, sys
script = open(sys.argv[-1]).read()
last = re.search(r"--array=0-(\\d+)", script)
for task in range(int(last[1]) + 1 if last else 1):
    env = dict(os.environ, SLURM_ARRAY_TASK_ID=str(task), RUN_OFFSET="0", SLURM_NODELIST="n1")
    if "merge_stats" not in script:
        subprocess.run(["bash", "-c", script], env=env, check=True, stdout=sys.stderr)
print("Submitted batch job 7")
"""
SRUN = '#!/bin/bash\nshift 3\nexec "$@"\n'


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Three files of text, packed and plain, with a document that comes twice, and one file without any."""
    folder = tmp_path_factory.mktemp("corpus")
    documents = []
    for document in read_documents(sorted(QUICKSTART.glob("*.txt*"))[:1]):
        documents.append("\n".join(document.sentences[:12]))
        if len(documents) == 12:
            break
    (folder / "text").mkdir()
    (folder / "text" / "a.txt").write_text("\n\n".join(documents[:6]), encoding="utf-8")
    (folder / "text" / "b.txt").write_text(" \n\n", encoding="utf-8")
    rows = [json.dumps({"text": text}) + "\n" for text in documents[6:] + documents[3:5]]
    (folder / "text" / "c.jsonl").write_text("".join(rows), encoding="utf-8")
    tokenizer = learn_tokenizer(folder / "text", vocab_size=500)
    tokenizer.save(folder / "tokenizer")
    prepare(folder / "text", tokenizer, folder / "local")
    return folder


def start(corpus, out, *options, **variables):
    command = [sys.executable, SCRIPT, corpus / "text", "--tokenizer", corpus / "tokenizer", "--out", out, *options]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_two_workers_make_the_store_of_the_local_run_and_finished_parts_are_skipped(corpus, tmp_path):
    done = start(corpus, tmp_path / "store", "--workers", "2", "--part-mb", "0.001")
    assert done.returncode == 0, done.stderr[-2000:]
    assert read_manifest(tmp_path / "store") == read_manifest(corpus / "local")

    work = tmp_path / "store-work"
    shutil.rmtree(tmp_path / "store")
    shutil.rmtree(work / "parts" / "00001")
    for lost in ("store/completions/00000", "parts/completions/00001", "parts/completions/00000"):
        (work / "logs" / lost).unlink()
    before = (work / "parts" / "00000" / "manifest.json").stat().st_mtime_ns
    assert start(corpus, tmp_path / "store", "--workers", "1", "--part-mb", "0.001").returncode == 0
    assert (work / "parts" / "00000" / "manifest.json").stat().st_mtime_ns == before
    assert read_manifest(tmp_path / "store") == read_manifest(corpus / "local")


@pytest.mark.slow
def test_cleaning_and_deduplication_leave_the_same_for_any_number_of_workers(corpus, tmp_path):
    options = ("--part-mb", "0.001", "--minhash", "--clean")
    for workers in ("1", "2"):
        done = start(corpus, tmp_path / workers, "--workers", workers, *options)
        assert done.returncode == 0, done.stderr[-2000:]
    assert read_manifest(tmp_path / "1") == read_manifest(tmp_path / "2")
    assert 0 < TokenStore.open(tmp_path / "1").num_documents < TokenStore.open(corpus / "local").num_documents
    removed = [path.stat().st_size // 4 for path in (tmp_path / "1-work" / "removed").iterdir()]
    assert removed == [2]  # the two rows that come again


@pytest.mark.slow
def test_slurm_gets_an_array_of_tasks_and_makes_the_same_store(corpus, tmp_path):
    (tmp_path / "bin").mkdir()
    stand_ins = {"sbatch": SBATCH.replace("{python}", sys.executable), "srun": SRUN, "scontrol": "#!/bin/sh\necho n1\n"}
    for name, code in stand_ins.items():
        (tmp_path / "bin" / name).write_text(code)
        (tmp_path / "bin" / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = start(corpus, tmp_path / "store", "--executor", "slurm", "--part-mb", "0.001", PATH=path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert read_manifest(tmp_path / "store") == read_manifest(corpus / "local")
    script = (tmp_path / "store-work" / "logs" / "parts" / "launch_script.slurm").read_text()
    assert "#SBATCH --array=0-1" in script and "#SBATCH --partition=cpu" in script
