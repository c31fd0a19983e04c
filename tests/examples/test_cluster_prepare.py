"""A corpus prepared by datatrove's executors is the local run's store, for any number of workers and after a kill."""

import json
import os
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.runtime.files import read_manifest
from spanwise.text.corpus import CorpusOptions, read_documents
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

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
    for document in read_documents(QUICKSTART / "wiki-train.txt.xz"):  # prose, which cleaning keeps
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


def start(corpus, out, *options, texts=None, **variables):
    text = texts or corpus / "text"
    command = [sys.executable, SCRIPT, text, "--tokenizer", corpus / "tokenizer", "--out", out, *options]
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


@pytest.fixture
def ray(tmp_path):
    """The environment of a Ray of this test's own: no other cluster is joined, and its files go when it ends."""
    with TemporaryDirectory(prefix="ray") as folder:  # short: the paths of its sockets have a limit
        yield {"RAY_ADDRESS": "local", "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}


@pytest.mark.slow
def test_ray_makes_the_same_store_and_goes_on_with_what_is_missing(corpus, tmp_path, ray):
    options = ("--executor", "ray", "--workers", "2", "--part-mb", "0.001")
    done = start(corpus, tmp_path / "store", *options, **ray)
    assert done.returncode == 0, done.stderr[-2000:]
    assert read_manifest(tmp_path / "store") == read_manifest(corpus / "local")

    work = tmp_path / "store-work"
    shutil.rmtree(tmp_path / "store")
    shutil.rmtree(work / "parts" / "00001")
    for lost in ("store/completions/00000", "parts/completions/00001"):
        (work / "logs" / lost).unlink()
    before = (work / "parts" / "00000" / "manifest.json").stat().st_mtime_ns
    assert start(corpus, tmp_path / "store", *options, **ray).returncode == 0
    assert (work / "parts" / "00000" / "manifest.json").stat().st_mtime_ns == before
    assert read_manifest(tmp_path / "store") == read_manifest(corpus / "local")


@pytest.mark.slow
def test_ray_ends_with_a_sentence_where_a_task_fails_and_does_not_wait_for_it(corpus, tmp_path, ray):
    texts = shutil.copytree(corpus / "text", tmp_path / "text")
    (texts / "d.txt").write_bytes(b"Denver is \xff\xfe here.")
    options = ("--executor", "ray", "--workers", "2", "--part-mb", "0.001")
    done = start(corpus, tmp_path / "store", *options, texts=texts, **ray)
    assert done.returncode == 1
    logs = tmp_path / "store-work" / "logs" / "parts"
    assert f"1 of 3 tasks of the stage 'parts' failed; {logs}/logs says why" in done.stderr
    assert "d.txt line 1 is not valid UTF-8" in (logs / "logs" / "task_00002.log").read_text()
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_a_failed_task_is_a_sentence_with_its_own_status_and_its_cure_is_an_option(corpus, tmp_path):
    texts = shutil.copytree(corpus / "text", tmp_path / "text")
    (texts / "d.txt").write_bytes(b"Denver is \xff\xfe here.")
    done = start(corpus, tmp_path / "store", "--workers", "2", "--part-mb", "0.001", texts=texts)
    assert done.returncode == 3
    assert "d.txt line 1 is not valid UTF-8" in done.stderr.splitlines()[-1]
    done = start(corpus, tmp_path / "other", "--workers", "2", "--errors", "replace", texts=texts)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_language_filter_leaves_what_was_written_in_that_language(corpus, tmp_path, language):
    files = {"en": QUICKSTART / "wiki-valid.txt.xz", "ko": QUICKSTART / "ko" / "wiki-valid.txt.xz"}
    found = {
        name: ["\n".join(document.sentences[:8]) for document in islice(read_documents([file]), 20)]
        for name, file in files.items()
    }
    (tmp_path / "text").mkdir()
    for number in range(2):
        pairs = zip(found["en"][number::2], found["ko"][number::2], strict=True)
        text = "\n\n".join(document for pair in pairs for document in pair)
        (tmp_path / "text" / f"{number}.txt").write_text(text, encoding="utf-8")
    alone = "\n\n".join(found[language][0::2] + found[language][1::2])
    (tmp_path / "alone.txt").write_text(alone, encoding="utf-8")
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    prepare(tmp_path / "alone.txt", tokenizer, tmp_path / "alone", options=CorpusOptions(language=language))
    options = ("--language", language, "--language-filter", "--workers", "2", "--part-mb", "0.001")
    done = start(corpus, tmp_path / "store", *options, texts=tmp_path / "text")
    assert done.returncode == 0, done.stderr[-2000:]
    assert TokenStore.open(tmp_path / "store").num_documents == 20
    assert read_manifest(tmp_path / "store")["00000.bin"] == read_manifest(tmp_path / "alone")["00000.bin"]


@pytest.mark.slow
def test_numbers_out_of_range_and_a_file_that_is_no_model_are_refused_before_anything_is_written(corpus, tmp_path):
    page = tmp_path / "lid.ftz"
    page.write_text("<html>")
    for options, status, message in (
        (("--workers", "0"), 2, "--workers 0: at least 1"),
        (("--part-mb", "nan"), 2, "--part-mb nan: expected"),
        (("--language-model", page), 3, "lid.ftz is no fastText model"),
        (("--language", "zu", "--language-filter"), 2, "language='zu'"),
    ):
        done = start(corpus, tmp_path / "store", *options)
        assert done.returncode == status and message in done.stderr.splitlines()[-1]
        assert not (tmp_path / "store-work").exists()
