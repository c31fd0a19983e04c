"""A model of the hub is read wherever a folder is, once, and from the cache without a network."""

import json

import huggingface_hub
import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import CheckpointError
from spanwise.interop.sources import find_folder
from spanwise.serving.models import open_models
from spanwise.weights import shipped_folder

TINY = "someone/mini"
TEXT = "The bridge over the river was built in 1890 by the city of Boston."


@pytest.fixture
def mini(hub, tmp_path, monkeypatch):
    """A hub that holds the shipped model, and a person in an empty folder with a text and a file of questions."""
    hub.holds(TINY, shipped_folder("spanwise-mini"))
    (tmp_path / "at").mkdir()
    monkeypatch.chdir(tmp_path / "at")
    (tmp_path / "at" / "my-text").mkdir()
    (tmp_path / "at" / "my-text" / "town.txt").write_text(TEXT + "\n")
    qas = [{"id": "1", "question": "When was it built?", "answers": [{"text": "1890", "answer_start": 39}]}]
    record = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": TEXT, "qas": qas}]}]}
    (tmp_path / "at" / "dev.json").write_text(json.dumps(record))
    return hub


@pytest.fixture
def small(hub, tmp_path):
    """A hub with a model of a few bytes, which can be fetched and not be read."""
    (tmp_path / "model" / "tasks" / "qa").mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "tasks/qa/changes.safetensors", "training.bin"):
        (tmp_path / "model" / name).write_bytes(name.encode())  # each another: a cache keeps equal files once
    hub.holds(TINY, tmp_path / "model")
    return hub


def gets(hub) -> list[str]:
    """Return the files that were fetched, with their content."""
    return [path for method, path in hub.asked if method == "GET" and "/resolve/" in path]


def test_a_model_is_fetched_once_and_read_from_the_cache_in_offline_mode(small, monkeypatch):
    first = find_folder(TINY)
    fetched = gets(small)
    assert (first / "tasks" / "qa" / "changes.safetensors").is_file() and not (first / "training.bin").exists()
    assert len(fetched) == 3 and find_folder(TINY) == first and gets(small) == fetched

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    asked = len(small.asked)
    assert find_folder(TINY) == first and len(small.asked) == asked


def test_a_revision_is_read_where_it_is_named_and_main_where_not(small):
    files = small.repositories[TINY].branches["main"]
    small.repositories[TINY].branches["v2"] = {**files, "config.json": b"of v2"}
    commit = small.repositories[TINY].commit("v2")
    for revision in ("v2", commit):
        assert (find_folder(f"{TINY}@{revision}") / "config.json").read_bytes() == b"of v2"
    assert (find_folder(TINY) / "config.json").read_bytes() == b"config.json"
    with pytest.raises(CheckpointError, match="'someone/mini@v3' is no folder here, and the hub did not give it: 404"):
        find_folder(f"{TINY}@v3")
    with pytest.raises(CheckpointError, match=r"a hub id .owner/name, owner/name@revision. was expected"):
        find_folder(f"{TINY}@")


def test_a_hub_that_went_away_leaves_the_cache(small):
    first = find_folder(TINY)
    small.stop()
    assert find_folder(TINY) == first


def test_a_model_that_the_hub_does_not_have_is_told(hub):
    with pytest.raises(CheckpointError, match="'someone/else' is no folder here, and the hub did not give it: 404"):
        find_folder("someone/else")


def test_a_model_that_only_the_hub_has_is_told_in_offline_mode(small, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="'someone/mini' is no folder here"):
        find_folder(TINY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        f"show model {TINY}",
        f"predict qa --model {TINY} --input dev.json --output answers.json",
        f"evaluate qa --model {TINY} --data dev.json",
        f"convert {TINY} my-qa --task qa",
        f"ask my-text/ When? --model {TINY} --threshold 0",
        f"extract my-text/ --models {TINY} --out out.jsonl",
        f"show masks --text Boston --model {TINY}",
    ],
    ids=lambda command: " ".join(command.split()[:2]),
)
def test_a_command_takes_it_where_a_folder_goes(command, mini, capsys):
    assert main(command.split()) == 0, capsys.readouterr().err
    assert gets(mini)


def test_a_pipeline_takes_it_where_a_folder_goes(mini):
    qa = spanwise.pipeline("question-answering", model=TINY)
    assert "1890" in qa(question="When was the bridge built?", context=TEXT)["answer"]


@pytest.mark.slow
def test_the_server_takes_it_where_a_folder_goes(mini):
    opened = open_models([TINY])
    assert list(opened) == [TINY] and "question-answering" in opened[TINY].pipelines


@pytest.mark.slow
def test_training_and_combining_take_it_where_a_folder_goes(mini, capsys):
    few = "--set training.num_epochs=null --set training.max_steps=1 --set batch_size=1"
    small = "--set batch.tokens_per_step=512 --set batch.max_tokens=512"
    longer = " ".join(f"The bridge number {n} was built in {1800 + n}." for n in range(60))
    with open("my-text/town.txt", "a") as file:
        file.write("".join(f"\n{n} {longer}\n" for n in range(20)))
    for command in (
        f"finetune qa --model {TINY} --from-base --train dev.json --out runs/qa {few}",
        f"combine {TINY} runs/qa --out my-tasks --replace",
        f"adapt {TINY} my-text/ --out runs/adapted --steps 8 {small}",
        f"pretrain spanbert-mini --init {TINY} --text my-text/ --out runs/on --set training.max_tokens=null "
        f"--set training.budget=null --set training.max_steps=1 {small}",
    ):
        assert main(command.split()) == 0, f"{command}: {capsys.readouterr().err}"


def test_a_tokenizer_is_named_by_a_hub_id_too_and_comes_without_the_weights(mini, capsys):
    assert main(["prepare", "my-text", "--tokenizer", TINY, "--out", "store"]) == 0
    fetched = gets(mini)
    assert any("tokenizer.json" in path for path in fetched) and not any("safetensors" in path for path in fetched)
    assert main(["show", "store", "store", "--tokenizer", TINY]) == 0
    shipped = ["--model", "spanwise-mini", "--threshold", "0"]
    assert main(["ask", "my-text", "When?", "--tokenizer", TINY, *shipped]) == 0
    assert main(["show", "masks", "--text", TEXT, "--tokenizer", TINY]) == 0
    assert gets(mini) == fetched  # once
    step = ["--set", "training.max_tokens=null", "--set", "training.max_steps=1", "--set", "batch.tokens_per_step=256"]
    assert main(["pretrain", "spanbert-tiny", "--text", "my-text", "--tokenizer", TINY, "--out", "run", *step]) == 0
    assert main(["evaluate", "qa", "--model", "spanwise-mini", "--tokenizer", TINY, "--data", "dev.json"]) == 0
    assert main(["convert", "spanwise-mini", "out", "--tokenizer", TINY, "--task", "qa"]) == 0
    assert gets(mini) == fetched


def test_a_tokenizer_that_is_nowhere_is_named(mini, capsys):
    assert main(["prepare", "my-text", "--tokenizer", "someone/nothing", "--out", "store"]) == 4
    assert "'someone/nothing' is no folder here, and the hub did not give it" in capsys.readouterr().err
    assert main(["prepare", "my-text", "--tokenizer", "./nothing/here", "--out", "store"]) == 4
    assert "nothing/here" in capsys.readouterr().err
