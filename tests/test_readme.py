"""Guard 5: every command and every line of Python that the READMEs and docs show is run, at tiny size."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from itertools import islice
from pathlib import Path

import pytest
import torch

import spanwise.serving.server
from spanwise.cli.main import COMMANDS, main
from spanwise.quickstart.bundle import open_bundle
from spanwise.runtime.device import has_int8
from spanwise.serving.server import run as run_server
from spanwise.text.corpus import read_documents

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SAME = ROOT / "README.ko.md"  # shows the commands and code of README.md in the same order, so they run once
# Pages whose commands train longer than a moment: slow tests.
HEAVY = ("adapt.md", "asking.md", "deploying.md", "moving", "pretrain.md", "scale.md", "serving.md", "systems", "tasks")
HEAVY = tuple("docs/" + name for name in HEAVY)
HEAVY = (*HEAVY, "docs/ko/adapt.md", "docs/ko/tasks.md")
TINY = """encoder.hidden_size=16 encoder.intermediate_size=32 encoder.num_layers=1 training.max_tokens=null
training.budget=null training.max_steps=2 training.eval_every=null batch.max_tokens=1024 batch.tokens_per_step=1024"""
MAKE_MODELS = ("pretrain", "finetune")
# What README.ko.md asks and adapts in place of README.md's; the pages of docs/ko run commands of this form.
IN_KOREAN = {
    "ask": {"Who built the bridge?": "다리는 누가 놓았나요?", "When did the market open?": "시장은 언제 열렸나요?"},
    "adapt": {"spanwise-mini": "spanwise-nano-ko"},
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages_to_run() -> list[object]:
    """The pages as parameters of tests that run what they show."""
    marks = {page: [pytest.mark.slow] if name_of(page).startswith(HEAVY) else [] for page in PAGES}
    return [pytest.param(page, id=name_of(page), marks=marks[page]) for page in PAGES if page != SAME]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", page.read_text("utf-8"), re.S | re.M)
    return [textwrap.dedent(block) for _, block in found]


def commands(page: Path) -> list[list[str]]:
    lines = [line for block in blocks(page, "bash") for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip() and not line.startswith("#")]


def at_tiny_size(arguments: list[str]) -> list[str]:
    """Return the same command for a moment's work: its length and shape are changed, nothing else."""
    arguments = list(arguments)
    if "--budget" in arguments:
        place = arguments.index("--budget")
        del arguments[place : place + 2]
    if arguments[0] == "pretrain":
        arguments += [part for change in TINY.split() for part in ("--set", change)]
    if arguments[0] == "adapt":
        arguments += ["--steps", "8", "--set", "batch.tokens_per_step=512", "--set", "batch.max_tokens=512"]
    if arguments[0] == "finetune":
        arguments += ["--set", "training.num_epochs=null", "--set", "training.max_steps=2", "--set", "batch_size=4"]
    if arguments[0] == "study":
        shape = [part for part in TINY.split() if not part.startswith("training")]
        arguments += [part for change in shape for part in ("--set", change)]
        arguments[arguments.index("--seeds") + 1] = "1"
        arguments += ["--tokens", "1500"]
    if arguments[0] == "serve":
        arguments += ["--port", "0"]
    if arguments[0] == "learn-tokenizer":
        arguments[arguments.index("--vocab-size") + 1] = "500"
    return arguments


@pytest.fixture
def person(tmp_path, monkeypatch, request) -> Path:
    """A folder as a reader of the README has it: my-text/, train.json, dev.json; they stand in it.

    held-out/ has text of its own. A reader of the page about Hugging Face has my-bert/ and my-tokens.txt too, one of
    the page about parts of one's own the files of examples/ and names.jsonl. A reader of the Korean pages has Korean
    text and questions, and questions.txt.
    """
    korean = "docs/ko/" in request.node.name
    (tmp_path / "my-text").mkdir()
    (tmp_path / "held-out").mkdir()
    with open_bundle("ko" if korean else "en") as bundle:
        some = islice(read_documents([bundle.valid_text]), 15 if korean else 7)
        documents = [" ".join(document.sentences) for document in some]
    (tmp_path / "my-text" / "wiki.txt").write_text("\n\n".join(documents[:-3]))
    (tmp_path / "held-out" / "wiki.txt").write_text("\n\n".join(documents[-3:]))  # partners of a pair need others
    question, answer, context = "Who won?", "Denver", "Denver won the game in February 2016."
    if korean:
        question, answer, context = "무엇이 서울을 지나나요?", "한강", "한강은 서울을 지나 서해로 흐른다."
        (tmp_path / "questions.txt").write_text("언제 태어났나요?\n")
    for name in ("train", "dev"):
        qas = [{"id": name, "question": question, "answers": [{"text": answer, "answer_start": 0}]}]
        record = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    if "docs/huggingface.md" in request.node.name or "run-mlm.md" in request.node.name:
        make_bert(tmp_path / "my-bert", documents)
        (tmp_path / "my-tokens.txt").write_text("Yangpyeong\nmarket square\n")
    if "extending.md" in request.node.name:
        for file in (ROOT / "examples").glob("my_*.py"):
            shutil.copy(file, tmp_path)
        rows = [{"text": "Ada met Bob.", "names": 2}, {"text": "It rained.", "names": 0}]
        (tmp_path / "names.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if "docs/tasks" in request.node.name:
        make_bert(tmp_path / "my-bert", documents)
        make_labelled_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_labelled_files(folder: Path) -> None:
    """The smallest labelled files of the tasks that the page about them shows."""
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text("sentence\tlabel\nA quiet film.\t1\nA dull one.\t0\n")
        (folder / f"{name}.conll").write_text(
            "#begin document (a); part 000\nAnn (1)\nmet -\nKim (2)\n. -\n\nShe (1)\nleft -\n. -\n\n#end document\n"
        )
    (folder / "story.txt").write_text("Ann met Kim. She likes him.\n")
    (folder / "names.conll").write_text("The O\nHan B-LOC\nRiver I-LOC\nrose O\n\nIt O\nrained O\n\n")
    question = {"context": "It rained.", "question": "How was the street?", "choices": ["Dry.", "Wet."]}
    relation = {"text": "Ada was born in London.", "subject": {"start": 0, "end": 3, "type": "PERSON"}}
    relation |= {"object": {"start": 16, "end": 22, "type": "CITY"}}
    rows = {
        "choices": [question | {"answer": letter} for letter in "AB"],
        "relations": [relation | {"label": label} for label in ("born_in", "none")],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_bert(folder: Path, lines: list[str]) -> None:
    """A small BERT of transformers with random weights, and its tokenizer."""
    from transformers import BertConfig, BertForPreTraining, BertTokenizer

    tokenizer = BertTokenizer().train_new_from_iterator(lines, vocab_size=500, show_progress=False)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=512, **sizes)
    BertForPreTraining(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize("page", pages_to_run())
def test_every_command_shown_runs(page, person, capsys, monkeypatch):
    def until_started(app, at, limits, started):
        run_server(app, at, limits, lambda: os.kill(os.getpid(), signal.SIGTERM))

    monkeypatch.setattr(spanwise.serving.server, "run", until_started)
    for command in commands(page):
        if command[0] == "torchrun" or "--processes" in command:  # started by a launcher: processes of their own
            several(command)
            continue
        if command[0] != "spanwise":
            assert command[:2] == ["python3", "run.py"], f"{page.name} shows {command}, which nothing runs"
            continue
        status = main(at_tiny_size(command[1:]))
        assert status == 0, f"{page.name}: {shlex.join(command)} ended with {status}: {capsys.readouterr().err}"


def several(command: list[str]) -> None:
    """Run a command that is started as several processes."""
    own = command.index("spanwise") + 1
    start = ["spanwise"] if command[0] == "spanwise" else ["torch.distributed.run", *command[1:own]]
    room = ["--set", "batch.tokens_per_step=2048"]  # a pack for each of two
    whole = [sys.executable, "-m", *start, *at_tiny_size(command[own:]), *room]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{shlex.join(command)} ended with {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("page", pages_to_run())
def test_every_line_of_python_shown_runs(page, person, monkeypatch):
    if not blocks(page, "python"):
        return
    shown = [command for command in commands(ROOT / "README.md") if command[1] in ("learn-tokenizer", "prepare")]
    for command in shown[:2]:  # the tokenizer and the store that the lines take
        assert main(at_tiny_size(command[1:])) == 0
    if name_of(page).startswith("docs/tasks/"):  # whose lines ask the models that its commands make
        assert not any(main(at_tiny_size(command[1:])) for command in commands(page) if command[1] in MAKE_MODELS)
    if page.name == "deploying.md":
        assert main(["convert", "spanwise-mini", "my-onnx", "--onnx", "--task", "qa"]) == 0
        imports = [line for line in blocks(page, "python")[0].splitlines() if "import " in line]
        assert imports and not any("torch" in line or "spanwise" in line for line in imports)
    import spanwise

    pretrain, finetune = spanwise.pretrain, spanwise.finetune
    changes = TINY.split()
    few = ["training.num_epochs=null", "training.max_steps=2", "batch_size=1"]
    monkeypatch.setattr(spanwise, "pretrain", lambda r, budget=None, **o: pretrain(r, overrides=changes, **o))
    monkeypatch.setattr(spanwise, "finetune", lambda task, **o: finetune(task, overrides=few, **o))
    for block in blocks(page, "python"):
        if not has_int8(torch.device("cpu")):  # refused there, by a sentence that says what the processor lacks
            block = block.replace('precision="int8"', 'precision="fp32"')
        exec(compile(block, page.name, "exec"), {})


@pytest.mark.slow
def test_the_lines_shown_for_spacy_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(ROOT / "docs" / "deploying.md", "py")
    exec(compile(block, "deploying.md", "exec"), {})
    assert (tmp_path / "my-nlp" / "spanwise_coref").is_dir()


def test_the_objective_that_a_page_shows_is_the_example():
    assert blocks(ROOT / "docs" / "extending.md", "python")[0] == (ROOT / "examples" / "my_objective.py").read_text()


def test_the_readme_mentions_every_command():
    text = (ROOT / "README.md").read_text("utf-8")
    missing = [name for name in [*COMMANDS, "show"] if f"spanwise {name}" not in text]
    assert not missing


def test_both_languages_show_the_same_commands_and_code():
    english = ROOT / "README.md"
    translated = [[IN_KOREAN.get(line[1], {}).get(part, part) for part in line] for line in commands(english)]
    assert translated != commands(english) and translated == commands(SAME)
    assert blocks(english, "python") == blocks(SAME, "python")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_that_exist(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target and not target.startswith("docs/images/"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.slow
def test_the_two_commands_work_in_a_clean_clone(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    python = sys.executable
    quickstart = [python, "run.py", "quickstart", "--budget", "60s", "--out", str(tmp_path / "out")]
    subprocess.run(quickstart, cwd=clone, check=True, timeout=1800)
    assert (tmp_path / "out" / "report.html").is_file()
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    assert record
    tests = [python, "run.py", "test", "tests/test_layout.py", "tests/test_errors.py"]
    done = subprocess.run(tests, cwd=clone, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout.splitlines()[-1]
    shutil.rmtree(clone)
