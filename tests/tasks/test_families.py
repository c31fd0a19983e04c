"""Every family fine-tunes on every task of labels, and the class that its library has gives the same scores."""

import json

import pytest
import torch
from tests.nn.toy import MODERN

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.run import finetune

SHAPE = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 64, "max_positions": 48}
FAMILIES = {
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {"position_offset": 1, "num_token_types": 1}),
    "xlm-roberta": ("XLMRoberta", {"position_offset": 1, "num_token_types": 1}),
    "albert": ("Albert", {"embedding_size": 8, "sharing": "all", "pooler": True}),
    "electra": ("Electra", {"embedding_size": 8}),
    "splinter": ("Bert", {}),  # the library has Splinter's classes for questions alone
    "modernbert": ("ModernBert", MODERN | {"hidden_dropout": 0.1}),
    "openai-gpt": (
        "OpenAIGPT", {"causal": True, "embedding_norm": False, "num_token_types": 0, "activation": "gelu_tanh"},
    ),
}  # fmt: skip
TASKS = {
    "classification": ("ForSequenceClassification", "t.tsv", "text\tlabel\nThe Han\tx\nkm km km\ty\n"),
    "relation": (
        "ForSequenceClassification",
        "r.jsonl",
        '{"text": "Ada is in Han", "subject": [0, 3], "object": [10, 13], "label": "x"}\n'
        '{"text": "the Han and Ada", "subject": [12, 15], "object": [4, 7], "label": "y"}\n',
    ),
    "tagging": ("ForTokenClassification", "n.txt", "The O\nHan B-LOC\nRiver I-LOC\n\nkm O\nSeoul B-LOC\n"),
    "multiple-choice": (
        "ForMultipleChoice",
        "c.jsonl",
        '{"context": "The Han", "choices": ["a river", "km", "Apr"], "answer": 0}\n'
        '{"context": "Seoul", "question": "is ?", "choices": ["the", "In the river"], "answer": 1}\n',
    ),
}
NOT_THERE = {("openai-gpt", "tagging"), ("openai-gpt", "multiple-choice")}  # transformers has no such class
CHANGES = ["training.max_steps=2", "training.precision=fp32", "training.learning_rate=1e-2", "training.threads=1"]


@pytest.fixture(scope="module")
def start(tokenizer, tmp_path_factory):
    """An encoder folder with random weights of each family."""

    def make(family):
        encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **(SHAPE | FAMILIES[family][1])))
        initialize(encoder, encoder.config, seed=1)
        folder = tmp_path_factory.mktemp(family) / "start"
        write_folder(folder, FolderContent(encoder, {}, tokenizer, model_type=family))
        return folder

    return {family: make(family) for family in FAMILIES}


def tuned(start, family, name, tmp_path):
    """A run of two steps, and the file it was trained and scored on."""
    file, content = TASKS[name][1:]
    path = tmp_path / file
    path.write_text(content)
    changes = [*CHANGES, *(["task.markers=text"] if name == "relation" else [])]
    run = finetune(name, model=start[family], train=path, dev=path, out=tmp_path / "run", overrides=changes)
    return run, path


PAIRS = [(family, name) for family in FAMILIES for name in TASKS]


@pytest.mark.parametrize(("family", "name"), [pair for pair in PAIRS if pair not in NOT_THERE])
def test_the_familys_class_gives_the_same_scores(start, tmp_path, family, name):
    import transformers

    run, path = tuned(start, family, name, tmp_path)
    class_name = FAMILIES[family][0] + TASKS[name][0]
    assert read_folder(run.final).source_class == class_name
    theirs, report = getattr(transformers, f"AutoModel{TASKS[name][0]}").from_pretrained(
        run.final, output_loading_info=True
    )
    assert type(theirs).__name__ == class_name
    assert not report["missing_keys"] and not report["unexpected_keys"]
    loaded = load_task_model(run.final, name, device="cpu")
    data = loaded.task.read(path, purpose="score")
    rows = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    outputs = loaded.model.outputs(rows)
    if theirs.config.pad_token_id is None:  # GPT's class asks for it to find the last token
        theirs.config.pad_token_id = loaded.tokenizer.pad_id
    for number, ours in enumerate(outputs):
        first, last = rows.example_borders[number], rows.example_borders[number + 1]
        expected = []
        for sequence in range(first, last):
            place = slice(rows.sequence_borders[sequence], rows.sequence_borders[sequence + 1])
            given = {"input_ids": torch.from_numpy(rows.input_ids[place]).long()[None]}
            if family not in ("openai-gpt", "modernbert"):
                given["token_type_ids"] = torch.from_numpy(rows.token_types[place]).long()[None]
            if name == "multiple-choice":
                given = {key: value[None] for key, value in given.items()}
            with torch.no_grad():
                expected.append(theirs.eval()(**given).logits[0])
        scores = torch.cat(expected) if name == "multiple-choice" else expected[0]
        if name == "tagging":
            units = slice(rows.unit_borders[number], rows.unit_borders[number + 1])
            scores = scores[torch.from_numpy(rows.places[units])]
        torch.testing.assert_close(torch.from_numpy(ours), scores, atol=1e-5, rtol=1e-5)
    assert evaluate(name, model=run.final, data=path, precision="fp32").scores == run.scores


@pytest.mark.parametrize(("family", "name"), sorted(NOT_THERE))
def test_where_the_library_has_no_class_the_folder_says_so_and_answers_here(start, tmp_path, family, name):
    import transformers

    run, path = tuned(start, family, name, tmp_path)
    assert not hasattr(transformers, FAMILIES[family][0] + TASKS[name][0])
    assert json.loads((run.final / "spanwise.json").read_text())["heads"][run.task.head_name] == "heads.safetensors"
    assert "heads.safetensors" in (run.final / "README.md").read_text()
    assert evaluate(name, model=run.final, data=path, precision="fp32").scores == run.scores
