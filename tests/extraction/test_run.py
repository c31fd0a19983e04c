"""The whole job: the same bytes from any number of processes and after a stop, and the pipelines' own answers."""

import json

import pytest
import torch
from tests.tiny_tasks import tiny_task

import spanwise
from spanwise.errors import ConfigError, InterruptedAndSaved
from spanwise.extraction import shards, worker
from spanwise.extraction.run import _num_processes, extract

TEXTS = [
    "Ada Lovelace met Charles Babbage in London. She liked him.",
    "The bridge was built in 1890 in Boston.",
    "Rain.",
]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 1)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("\n\n".join(TEXTS))
    (tmp_path / "q.txt").write_text("When was the bridge built?\n")
    return tmp_path


def run(corpus, out, **options):
    asked = {"models": ["spanwise-mini"], "questions": corpus / "q.txt", "processes": 1, "precision": "fp32", **options}
    return extract([corpus / "in"], out=corpus / out, **asked)


def test_int8_beside_a_gpu_has_a_process_for_each_core(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("spanwise.extraction.run.num_usable_cores", lambda: 6)
    assert [_num_processes(None, None, precision, 99) for precision in ("auto", "int8")] == [1, 6]


def test_rows_are_the_answers_of_the_pipelines(corpus):
    report = run(corpus, "out.jsonl")
    rows = [json.loads(line) for line in (corpus / "out.jsonl").read_text().splitlines()]
    assert (report.num_documents, report.num_rows, report.errors) == (3, len(rows), None)
    tag, coref = (spanwise.pipeline(name, precision="fp32") for name in ("token-classification", "coreference"))
    for number, text in enumerate(TEXTS, 1):
        own = [row for row in rows if row["document"] == f"a.txt#{number}"]
        names = [(row["start"], row["end"], row["kind"]) for row in own if row["task"] == "tagging"]
        assert names == [(s["start"], s["end"], s["label"]) for s in tag(text)["spans"]]
        mentions = [(row["cluster"], row["text"]) for row in own if row["task"] == "coref"]
        assert mentions == [(n, m["text"]) for n, cluster in enumerate(coref(text)["clusters"]) for m in cluster]
        assert all(text[row["start"] : row["end"]] == row["text"] for row in own)
    assert {row["document"] for row in rows if row["task"] == "qa"} <= {f"a.txt#{n}" for n in (1, 2, 3)}
    assert not (corpus / "out.jsonl.work").exists()


def test_a_stopped_job_goes_on_and_gives_the_same_bytes_as_one_that_was_not(corpus, monkeypatch, gauges):
    monkeypatch.setattr(worker, "MOST_LOOKING", 1e9)  # a slow disk: it looks after the first shard and at the end
    run(corpus, "whole.parquet", tasks=["tagging"], questions=None)
    read_shard = worker.read_shard

    def stopped(readers, documents, stop):
        if documents[0].id == "a.txt#2":
            stop.request()
        return read_shard(readers, documents, stop)

    with monkeypatch.context() as patched, pytest.raises(InterruptedAndSaved, match="1 of 3 shards"):
        patched.setattr(worker, "read_shard", stopped)
        run(corpus, "out.parquet", tasks=["tagging"], questions=None)
    assert not (corpus / "out.parquet").exists()
    with pytest.raises(ConfigError, match="other models"):
        run(corpus, "out.parquet", tasks=["coref"], questions=None)
    done = []
    monkeypatch.setattr(worker, "read_shard", lambda r, d, s: done.append(d[0].id) or read_shard(r, d, s))
    run(corpus, "out.parquet", tasks=["tagging"], questions=None)
    assert done == ["a.txt#2", "a.txt#3"]
    assert gauges["reading"] == [3 + 3 + 2, 3 + 1 + 2]  # whole, stopped, and what was left then
    assert (corpus / "out.parquet").read_bytes() == (corpus / "whole.parquet").read_bytes()


def test_an_output_that_exists_is_not_written_over(corpus):
    (corpus / "out.jsonl").write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        run(corpus, "out.jsonl")


def test_relations_between_names_and_labels_of_documents_are_those_of_the_pipelines(corpus):
    models = ["spanwise-mini", *(tiny_task(task, made(corpus / task)) for task in ("relation", "classification"))]
    report = run(corpus, "out.jsonl", models=models, tasks=["tagging", "relation", "classification"], questions=None)
    rows = [json.loads(line) for line in (corpus / "out.jsonl").read_text().splitlines()]
    assert report.num_rows == len(rows) and report.errors is None
    names = [row for row in rows if row["task"] == "tagging" and row["document"] == "a.txt#1"]
    related = [row for row in rows if row["task"] == "relation"]
    ada, charles, *_ = names
    first = next(r for r in related if (r["text"], r["object_text"]) == (ada["text"], charles["text"]))
    sentence = TEXTS[0].partition(". ")[0] + "."
    sides = {
        role: {"start": n["start"], "end": n["end"], "type": n["kind"]}
        for role, n in (("subject", ada), ("object", charles))
    }
    expected = spanwise.pipeline("relation-extraction", models[1], precision="fp32")({"text": sentence, **sides})
    assert (first["kind"], first["score"]) == (expected["label"], pytest.approx(expected["score"], abs=1e-5))
    assert {(r["start"], r["object_start"]) for r in related} >= {
        (ada["start"], charles["start"]),
        (charles["start"], ada["start"]),
    }
    assert all(
        TEXTS[0][r["object_start"] : r["object_end"]] == r["object_text"] for r in related if r["document"] == "a.txt#1"
    )
    label = spanwise.pipeline("text-classification", models[2], precision="fp32")
    found = [(row["kind"], row["score"]) for row in rows if row["task"] == "classification"]
    assert found == [(a["label"], pytest.approx(a["score"], abs=1e-5)) for a in map(label, TEXTS)]


def made(folder):
    folder.mkdir()
    return folder
