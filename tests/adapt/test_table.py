"""The scripts of records/adaptation on a tiny model and files made here: every cell runs once, and calls go on."""

import importlib.util
import itertools
import json
import lzma
import random
import sys
from pathlib import Path

import pytest

from spanwise.interop.huggingface import read_folder
from spanwise.tasks.run import finetune

PLACE = Path(__file__).parents[2] / "records" / "adaptation"
TEXT = "the old river ran past a stone bridge and into the quiet town where people sold bread fish cloth"
WORDS = TEXT.split()
ENGLISH = ["questions", "tagging", "web-names"]
PARTS = ("train", "dev", "test")
SMALL = ["--minutes", "0.02", "--seeds", "2", "--labels", "8", "--steps", "2"]


@pytest.fixture(scope="module")
def table():
    return opened("table.py")


def opened(name):
    """Return a script of the record as a module, with those beside it in reach as where it is run."""
    spec = importlib.util.spec_from_file_location(f"adaptation_{name.removesuffix('.py')}", PLACE / name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PLACE)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Ninety articles of a passage and two questions, two tagged files, and 160 documents of which half have names."""
    folder, draw = tmp_path_factory.mktemp("data"), random.Random(7)
    articles = []
    for number in range(90):
        passage = " ".join(" ".join(draw.sample(WORDS, 9)).capitalize() + "." for _ in range(3))
        questions = []
        for asked in range(2):
            start = passage.index(" ", 12 * asked + 3) + 1
            text = passage[start : passage.index(" ", start)]
            answers = [{"text": text, "answer_start": start}]
            questions.append(
                {"id": f"{number}-{asked}", "question": f"What is past {WORDS[asked]}?", "answers": answers}
            )
        articles.append({"title": str(number), "paragraphs": [{"context": passage, "qas": questions}]})
    place = folder / "qa" / "squadshifts"
    place.mkdir(parents=True)
    record = json.dumps({"version": "1.0", "data": articles}).encode()
    (place / "amazon_reviews_v1.0.json.xz").write_bytes(lzma.compress(record))
    lines = [
        [f"{word}\t{'B-place' if word in ('town', 'river') else 'O'}" for word in draw.sample(WORDS, 9)]
        for _ in range(180)
    ]
    place = folder / "tagging" / "wnut17"
    place.mkdir(parents=True)
    (place / "wnut17train.conll").write_text("".join("\n".join(one) + "\n\n" for one in lines[:120]))
    (place / "emerging.dev.conll").write_text("".join("\n".join(one) + "\n\n" for one in lines[120:]))
    named, bare = ([f"# newdoc id = {kind}-{number}" for number in range(80)] for kind in ("named", "bare"))
    for number, one in enumerate(lines[:160]):
        rows = [row.split("\t") for row in one]
        heading = f"# text = {' '.join(word for word, _ in rows)}\n"
        columns = ("\n".join(f"{1 + at}\t{word}\t{tag}\t-" for at, (word, tag) in enumerate(rows)), "1\ta\tDT")
        named[number // 2] += f"\n{heading}{columns[0]}\n"
        bare[number // 2] += f"\n{heading}{columns[1]}\n"
    for name, documents in (("uner_en_ewt/dev.iob2", named), ("ud_en_ewt/train.conllu", bare)):
        place = folder / "tagging" / name
        place.parent.mkdir()
        place.write_text("\n".join(documents) + "\n")
    write_korean(folder / "ko", draw)
    return folder


def write_korean(folder, draw):
    """6,000 reviews, of which 40 hold a tagged sentence; 100 such sentences and 60 of news."""
    reviews = [f"{number}\t영화 {number} 재미{draw.choice('가를는')}\t{number % 2}" for number in range(6_000)]
    sentences = []
    for number in range(160):
        text = f"배우 {number:03}좋다"
        tags = ["O"] * 3 + ["B-PS"] + ["O"] * (len(text) - 4)
        lines = [
            f"## klue-{number}-{'nsmc' if number < 100 else 'wikitree'}\t{text}",
            *map("\t".join, zip(text, tags, strict=True)),
        ]
        sentences.append("\n".join(lines) + "\n")
        if number < 40:
            reviews[number] = f"{number}\t정말 {text} 그래서 봤다\t1"
    files = {
        "nsmc/train.tsv": "\n".join(["id\tdocument\tlabel", *reviews[:5_000], "9\t \t0"]),
        "nsmc/dev.tsv": "\n".join(["id\tdocument\tlabel", *reviews[4_900:]]),
        "klue_ner/part_train.tsv": "\n".join(sentences[:50] + sentences[100:]),
        "klue_ner/part_dev.tsv": "\n".join(sentences[50:100]),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n", encoding="utf-8")


@pytest.mark.slow
def test_every_cell_is_run_once_and_a_stopped_table_goes_on(table, data, start, tmp_path, capsys):
    call = [str(start), str(data), str(tmp_path / "out"), *SMALL]
    table.main([*call, "--table"])
    assert "Run: 0 of 72 cells, 0 of 12 means." in capsys.readouterr().out
    table.main(call, ended=lambda done: done == 7)
    told = capsys.readouterr().out
    assert "Run: 7 of 72 cells, 1 of 12 means." in told and "Not run yet: 0.02 minutes of adapt" in told
    first = {path: path.read_bytes() for path in (tmp_path / "out" / "cells").rglob("*.json")}
    assert len(first) == 7
    table.main(call)
    told = capsys.readouterr().out
    assert "Run: 72 of 72 cells, 12 of 12 means." in told and "Not run yet" not in told
    assert all(path.read_bytes() == content for path, content in first.items())
    assert all(f"adapt on the text of {task}: " in told for task in ENGLISH)
    rows = [line for line in told.splitlines() if line.startswith(("| questions", "| tagging", "| web-names"))]
    assert len(rows) == 3 and all(row.count(" to ") == 4 and "| - |" not in row for row in rows)
    for kind in ("questions-run_mlm", "tagging-run_mlm", "questions-adapt/final"):
        assert read_folder(tmp_path / "out" / "models" / kind).config.hidden_size == 32


def test_seeds_and_labels_may_be_added_and_nothing_else_changed(table, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "prepare", lambda *given: None)

    def call(*added):
        """The last one of the options of a name counts."""
        table.main(["start", "data", str(tmp_path), *SMALL, *added], ended=lambda done: True)
        return json.loads((tmp_path / "settings.json").read_text())

    table.main(["start", "data", str(tmp_path), "--table", *SMALL, "--steps", "7"])  # begins nothing
    begun = call()
    assert call("--seeds", "7")["seeds"] == 7 and call()["seeds"] == 7  # a later call may ask for fewer
    grown = call("--labels", "3", "0", "--steps", "9", "2")
    assert grown["labels"] == [*begun["labels"], 3, 0] and grown["steps"] == [*begun["steps"], 9, 2]
    for change in (["--labels", "3", "--steps", "8"], ["--minutes", "9"], ["--language", "ko"]):
        with pytest.raises(SystemExit, match="begun otherwise"):
            call(*change)
    assert json.loads((tmp_path / "settings.json").read_text()) == grown


def test_the_parts_share_no_article_and_a_seed_has_the_same_labels_in_every_arm(table, data, tmp_path):
    table.prepare(data, tmp_path, ENGLISH)
    parts = {}
    for name in ("train", "dev", "test"):
        articles = json.loads((tmp_path / "data" / f"questions-{name}.json").read_text())["data"]
        parts[name] = {article["title"] for article in articles}
        text = (tmp_path / "data" / "questions.txt").read_text()
        assert all((a["paragraphs"][0]["context"] in text) == (name == "train") for a in articles)
    assert [len(part) for part in parts.values()] == [30, 30, 30] and len(set.union(*parts.values())) == 90
    assert len((tmp_path / "data" / "web-names.txt").read_text().split("\n\n")) == 80
    assert "\t" not in (tmp_path / "data" / "web-names.txt").read_text()
    for task, count in (("questions", '"id"'), ("tagging", "\n\n"), ("web-names", "\n\n")):
        drawn = {}
        for arm, seed in (("finetune", 0), ("run_mlm", 0), ("finetune", 1)):
            path = table.labelled(table.Cell(task=task, arm=arm, labels=8, rate=0, seed=seed), tmp_path)
            drawn[arm, seed] = path.read_text()
            path.unlink()
        assert drawn["finetune", 0] == drawn["run_mlm", 0] != drawn["finetune", 1]
        assert drawn["finetune", 0].count(count) == 8
        everything = table.labelled(table.Cell(task=task, arm="adapt", labels=0, rate=0, seed=0), tmp_path)
        assert everything.read_text().count(count) == {"questions": 60, "tagging": 120, "web-names": 80}[task]


def test_no_labelled_review_stands_in_the_text_to_adapt_to(table, data, tmp_path):
    table.prepare(data, tmp_path, ["reviews", "review-names"])
    parts = {name: (tmp_path / "data" / f"reviews-{name}.tsv").read_text().splitlines()[1:] for name in PARTS}
    assert [len(parts[name]) for name in PARTS] == [4_000, 550, 550]
    texts = (tmp_path / "data" / "reviews.txt").read_text().strip().split("\n\n")
    labelled = {line.split("\t")[0] for part in parts.values() for line in part}
    assert not labelled & set(texts) and 900 <= len(texts) <= 1_000
    drawn = table.labelled(table.Cell(task="reviews", arm="adapt", labels=8, rate=0, seed=0), tmp_path).read_text()
    assert len(drawn.splitlines()) == 9 and drawn.startswith("document\tlabel\n")
    names = {name: (tmp_path / "data" / f"review-names-{name}.conll").read_text() for name in PARTS}
    assert [names[name].count("B-PS") for name in PARTS] == [60, 20, 20] and "klue" not in str(names)
    assert (tmp_path / "data" / "review-names.txt").read_text().count("\n\n") == 4_960 - 1


@pytest.mark.slow
def test_a_korean_start_has_the_korean_rows(table, data, start, tmp_path, capsys):
    call = [str(start), str(data), str(tmp_path / "out"), *SMALL, "--language", "ko"]
    table.main([*call, "--tasks", "reviews", "--arms", "finetune", "examples"])
    told = capsys.readouterr().out
    assert "Run: 12 of 48 cells, 2 of 8 means." in told and "| tagging" not in told
    table.main([*call, "--tasks", "review-names", "--arms", "finetune", "examples"])
    assert "Run: 24 of 48 cells, 4 of 8 means." in capsys.readouterr().out


def test_a_task_is_prepared_from_its_own_files_alone(table, data, tmp_path):
    files = table.DOMAINS["tagging"].files
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((data / name).read_bytes())
    table.prepare(tmp_path, tmp_path / "out", ["tagging"])
    with pytest.raises(SystemExit, match=r"dev\.iob2 is missing"):
        table.prepare(tmp_path, tmp_path / "out", ["tagging", "web-names"])


def test_a_rate_is_chosen_by_the_mean_of_dev_and_seeds_are_compared_in_pairs(table, tmp_path):
    settings = table.Settings(start="x", language="en", minutes=1.0, seeds=4, labels=(8,), steps=(2,))

    def keep(arm, rate, seed, dev, test):
        path = table.Cell(task="tagging", arm=arm, labels=8, rate=rate, seed=seed).path(tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"dev": dev, "test": test}))

    def left():
        return [(cell.rate, cell.seed) for cell in table.cells_left(settings, tmp_path, ["tagging"], ["adapt"])]

    assert left() == [(rate, seed) for rate in range(3) for seed in range(3)]
    for rate, devs in enumerate(((10.0, 10.0, 10.0), (28.0, 28.0, 28.0), (30.0, 20.0, 20.0))):
        for seed, dev in enumerate(devs):  # seed 0 alone would choose the last
            assert table.chosen_rate("tagging", 8, "adapt", 4, tmp_path) is None
            keep("adapt", rate, seed, dev, 50.0 + 2 * seed)
    assert table.chosen_rate("tagging", 8, "adapt", 4, tmp_path) == 1
    assert left() == [(1, 3)]
    assert len(list(table.cells_left(settings, tmp_path))) == 1 + 11 * 9
    assert table.test_scores("tagging", 8, "adapt", settings, tmp_path) is None
    keep("adapt", 1, 3, 0.0, 53.0)
    keep("adapt", 0, 3, 0.0, 99.0)  # of an earlier choice: it counts for nothing
    assert "10 of 120 cells, 1 of 12 means" in table.table(settings, tmp_path)
    scores = table.test_scores("tagging", 8, "adapt", settings, tmp_path)
    assert scores == [50.0, 52.0, 54.0, 53.0]
    apart = table.difference(scores[:3], [49.0, 50.0, 51.0])
    assert apart == "+2.0 (-0.5 to +4.5)"  # 1, 2 and 3; t of two degrees: 4.303
    assert table.difference(scores, None) == "-"


STAND_IN = """import json, pathlib, shutil, sys
given = dict(zip(*[iter(word.removeprefix("--") for word in sys.argv[1:])] * 2))
with open(pathlib.Path(__file__).with_suffix(".calls"), "a") as calls:
    labels = open(given["train_file"]).read()
    calls.write(json.dumps(given | {"labels": labels}) + "\\n")
out = pathlib.Path(given["output_dir"])
out.mkdir(parents=True, exist_ok=True)
"""
STAND_IN_NER = """assert pathlib.Path("seqeval/seqeval.py").exists()
rows = [json.loads(line)["ner_tags"] for line in open(given["test_file"]).read().splitlines()]
if float(given["learning_rate"]) > HIGH:  # the highest rate finds nothing in the second half, which is test
    rows[len(rows) // 2 :] = [["O"] * len(tags) for tags in rows[len(rows) // 2 :]]
(out / "predictions.txt").write_text("\\n".join(map(" ".join, rows)) + "\\n")
"""
STAND_IN_MLM = """for file in pathlib.Path(given["model_name_or_path"]).iterdir():
    shutil.copy(file, out)
if len(open(pathlib.Path(__file__).with_suffix(".calls")).readlines()) == 1:
    sys.exit("killed before its last file")
(out / "train_results.json").write_text("{}")
"""


def test_the_scripts_of_transformers_run_on_the_labels_and_rates_of_a_row(table, data, start, tmp_path, capsys):
    """Stand-ins for both scripts: what they are given and where their predictions go is ours."""
    scripts, out = tmp_path / "scripts", tmp_path / "out"
    scripts.mkdir()
    usual = table.usual_rate(32)
    (scripts / "run_ner.py").write_text(STAND_IN + f"HIGH = {2 * usual}\n" + STAND_IN_NER)
    (scripts / "run_mlm.py").write_text(STAND_IN + STAND_IN_MLM)
    table.main([str(start), str(data), str(out), *SMALL], ended=lambda done: True)
    for arm, seed in itertools.product(("examples", "run_mlm"), range(4)):
        for rate in range(3):
            path = table.Cell(task="web-names", arm=arm, labels=8, rate=rate, seed=seed).path(out)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"dev": 1.0, "test": 60.0 + seed}))
    row = opened("scripts.py")
    call = [str(scripts), str(out), "--labels", "8", "--seeds", "4"]
    with pytest.raises(SystemExit, match="killed before its last file"):
        row.main([*call, "--mlm-steps", "7"])
    begun = {"examples": str(start), "run_mlm": str(out / "models" / "web-names-after-7-steps")}
    for peer, options in (("examples", []), ("run_mlm", ["--mlm-steps", "7"])):
        capsys.readouterr()
        (scripts / "run_ner.calls").unlink(missing_ok=True)
        row.main([*call, *options])
        told = capsys.readouterr().out
        assert told.count("dev 100.0, test 100.0") == 7 and told.count("dev 100.0, test 0.0") == 3
        assert "100.0 (100.0, 100.0, 100.0, 100.0), rate 0" in told and f" - {peer}: +38.5 (+36.4 to +40.6)" in told
        calls = [json.loads(line) for line in (scripts / "run_ner.calls").read_text().splitlines()]
        asked = [(round(float(one["learning_rate"]) / usual, 3), one["seed"]) for one in calls]
        assert asked == [(rate, seed) for rate in (0.333, 1.0, 3.0) for seed in "012"] + [(0.333, "3")]
        assert {one["model_name_or_path"] for one in calls} == {begun[peer]}
        assert all(one["max_steps"] == "2" and one["labels"].count("\n") == 8 for one in calls)
        assert len({one["labels"] for one in calls}) == 4
    row.main(call)
    assert "dev" not in capsys.readouterr().out  # all is run
    texts = [json.loads(line) for line in (scripts / "run_mlm.calls").read_text().splitlines()]
    assert [(one["max_steps"], Path(one["train_file"]).name) for one in texts] == [("7", "web-names.txt")] * 2
    assert not list(out.glob("work-*"))


def test_a_tag_that_the_labels_lack_is_none_to_predict(tmp_path):
    (tmp_path / "both.conll").write_text("Rome\tB-LOC\nroars\tO\n\nAda\tB-PER\n\n")
    tags = opened("scripts.py").as_json(tmp_path / "both.conll", tmp_path / "both.json", {"B-PER", "O"})
    lines = [json.loads(line) for line in (tmp_path / "both.json").read_text().splitlines()]
    assert lines == [
        {"tokens": ["Rome", "roars"], "ner_tags": ["O", "O"]},
        {"tokens": ["Ada"], "ner_tags": ["B-PER"]},
    ]
    assert tags == {"B-PER", "O"}


@pytest.mark.slow
def test_a_model_that_knows_its_task_goes_on_at_each_rate_for_each_number_of_steps(data, start, tmp_path, capsys):
    (tmp_path / "known.conll").write_text("town B-place\nand O\n")
    known = finetune(
        "tagging",
        model=start,
        train=tmp_path / "known.conll",
        out=tmp_path / "known",
        overrides=["training.max_steps=1"],
    )
    kept, out = opened("kept.py"), tmp_path / "out"
    options = "--tasks web-names --labels 8 --steps 1 2 --factors 0.1 1"
    call = [str(known.final), str(data), str(out), *options.split(" ")]
    kept.main([*call, "--seeds", "1"])
    assert capsys.readouterr().out.count("web-names-8-") == 4
    kept.main([*call, "--seeds", "2"])
    told = capsys.readouterr().out
    assert told.count("web-names-8-") == 4 and "| web-names | 8 | 2 |" in told
    begun, *cells = sorted(json.loads((out / "kept-final.json").read_text()), key=lambda one: one["steps"])
    assert set(begun) == {"task", "steps", "dev"} and len(cells) == 8
    asked = {(one["steps"], one["factor"], one["seed"]) for one in cells}
    assert asked == set(itertools.product((1, 2), (0.1, 1.0), (0, 1)))
    assert {one["learning_rate"] for one in cells} == {1e-4, 1e-3}
    assert not list(out.glob("work-*"))
