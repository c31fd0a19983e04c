"""Questions whose shared words are marked: taught, saved, read by other programs, asked in every way."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch
from tests.nn.int8.byte_machine import refused_here
from tests.nn.toy import MODERN
from tests.tasks.conftest import FAST, RIVER, SHORT

import spanwise
from spanwise.asking.reader import Reader
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.combined.combine import combine
from spanwise.interop.convert import convert
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.token_types import TABLE, with_token_types
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.nn.sequences import Sequences
from spanwise.runtime.files import sha256_of
from spanwise.tasks.checkpoint import convert_task, load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.onnx.export import export_onnx
from spanwise.tasks.qa.shared_words import NUM_TYPES
from spanwise.tasks.qa.task import NARROW, QuestionAnswering
from spanwise.tasks.run import finetune
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import LEARNED_FROM, Learned, as_record

QUESTION = "How long is the Han?"
TEXT, THEIRS = (Learned(file=what, what=what) for what in ("text", "weights"))
MARKED, PLAIN = "task.shared_words=marked", "task.shared_words=unmarked"


@pytest.fixture(scope="module")
def run(pretrained_folder, squad_files, tmp_path_factory):
    out, path = tmp_path_factory.mktemp("marked") / "run", squad_files["v2.0"]
    return finetune("qa", model=pretrained_folder, train=path, dev=path, out=out, overrides=[*FAST, MARKED])


def test_the_folder_says_that_shared_words_are_marked(run, pretrained_folder, squad_files):
    assert run.task.shared_words == "marked" and run.scores["exact"] == 100.0
    checkpoint, before = read_folder(run.final), read_folder(pretrained_folder)
    assert checkpoint.config.num_token_types == before.config.num_token_types + NUM_TYPES
    assert checkpoint.record["task"]["shared_words"] == "marked"
    assert "share are told to the encoder by token types" in (run.final / "README.md").read_text()
    assert json.loads((run.final / "config.json").read_text())["type_vocab_size"] == 2 + NUM_TYPES
    assert evaluate("qa", model=run.final, data=squad_files["v2.0"], precision="fp32").scores == run.scores


def test_prediction_pipeline_and_reader_see_the_same_marks(run, squad_files, tmp_path):
    predict("qa", model=run.final, input=squad_files["v2.0"], output=tmp_path / "p.json", precision="fp32")
    said = json.loads((tmp_path / "p.nbest.json").read_text())["length"][0]
    one = spanwise.pipeline("question-answering", run.final, precision="fp32")({"question": QUESTION, "context": RIVER})
    assert (one["answer"], one["score"]) == (said["text"], said["probability"])
    span = Reader(run.final, precision="fp32").read(QUESTION, [RIVER])[0].spans[0]
    assert RIVER[span.start : span.end] == one["answer"]


def test_the_marks_decide_answers(run, squad20):
    """So a way to a window that forgot them would be found out by what it answers."""
    loaded = load_task_model(run.final, "qa", device="cpu")
    marked = loaded.task.featurize(squad20, loaded.tokenizer, loaded.model.encoder.config, training=False)
    config = dataclasses.replace(loaded.model.encoder.config, num_token_types=2)
    plain = dataclasses.replace(loaded.task, shared_words="unmarked").featurize(
        squad20, loaded.tokenizer, config, training=False
    )
    with_marks, without = loaded.model.outputs(marked), loaded.model.outputs(plain)
    assert max(float(np.abs(a - b).max()) for a, b in zip(with_marks, without, strict=True)) > 0.1


def test_int8_reads_the_marks_too(run, squad_files):
    if refused_here():
        with pytest.raises(ConfigError, match="int8"):
            load_task_model(run.final, "qa", precision="int8")
        return
    assert evaluate("qa", model=run.final, data=squad_files["v2.0"], precision="int8").scores["f1"] > 80


def test_training_goes_on_with_the_rows_that_are_there(run, squad_files, tmp_path):
    again = finetune("qa", model=run.final, train=squad_files["1.1"], out=tmp_path / "again", overrides=SHORT)
    assert again.task.shared_words == "marked"
    assert read_folder(again.final).config.num_token_types == 2 + NUM_TYPES
    asked = {"train": squad_files["1.1"]}
    plain = finetune("qa", model=run.final, **asked, out=tmp_path / "plain", overrides=[*SHORT, PLAIN])
    assert plain.task.shared_words == "unmarked"
    assert (
        finetune("qa", model=plain.final, **asked, out=tmp_path / "p", overrides=SHORT).task.shared_words == "unmarked"
    )


def test_narrow_encoders_that_were_pretrained_here_are_marked_and_no_others(
    pretrained_folder, squad_files, tmp_path, monkeypatch
):
    asked = {"train": squad_files["1.1"], "overrides": SHORT}
    foreign = finetune("qa", model=pretrained_folder, **asked, out=tmp_path / "foreign")
    shutil.copytree(pretrained_folder, tmp_path / "ours")
    (tmp_path / "ours" / "manifest.json").unlink(missing_ok=True)
    record = tmp_path / "ours" / "spanwise.json"
    own = {**json.loads(record.read_text()), "recipe": {"name": "own"}, LEARNED_FROM: as_record([TEXT])}
    record.write_text(json.dumps({**own, LEARNED_FROM: as_record([THEIRS, TEXT])}))
    adapted = finetune("qa", model=tmp_path / "ours", **asked, out=tmp_path / "adapted")
    record.write_text(json.dumps(own))
    ours = finetune("qa", model=tmp_path / "ours", **asked, out=tmp_path / "a")
    by_paper = finetune("qa", model=tmp_path / "ours", **asked, recipe="spanbert", out=tmp_path / "b")
    width = read_folder(pretrained_folder).config.hidden_size
    assert width <= NARROW
    monkeypatch.setattr("spanwise.tasks.qa.task.NARROW", width - 1)
    wide = finetune("qa", model=tmp_path / "ours", **asked, out=tmp_path / "c")
    assert ours.task.shared_words == "marked"
    assert {run.task.shared_words for run in (foreign, adapted, by_paper, wide)} == {"unmarked"}


def test_new_rows_are_trained_where_embeddings_are_frozen(pretrained_folder, squad_files, tmp_path):
    changes = [*SHORT, MARKED, "frozen_layers=0"]
    run = finetune("qa", model=pretrained_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=changes)
    before, after = read_folder(pretrained_folder).tensors, read_folder(run.final).tensors
    frozen = [name for name in before if name.startswith("embeddings.") and name != TABLE]
    assert frozen and all(torch.equal(before[name], after[name]) for name in frozen)
    grown = after[TABLE][2:] - before[TABLE][[1, 1, 0, 0]]
    assert (grown.abs().amax(1) > 0).all()  # every kind of mark stands in the questions


@pytest.fixture(scope="module")
def modern(pretrained_folder, tmp_path_factory):
    """An encoder of ModernBERT's kind, which has no token types, as pre-training here leaves it."""
    source = read_folder(pretrained_folder)
    config = dataclasses.replace(source.config, **MODERN)
    encoder = Encoder(config)
    initialize(encoder, config, seed=1)
    folder, words = tmp_path_factory.mktemp("modern") / "base", Tokenizer.load(pretrained_folder)
    write_folder(
        folder, FolderContent(encoder, {}, words, extra={"recipe": {"name": "own"}, LEARNED_FROM: as_record([TEXT])})
    )
    return folder


def test_an_encoder_without_token_types_gets_some_that_change_nothing_yet(modern):
    checkpoint = read_folder(modern)
    task = QuestionAnswering(shared_words="auto").taught_from(checkpoint)
    grown = with_token_types(checkpoint, task.new_token_types(checkpoint))
    assert task.marks_shared and checkpoint.config.num_token_types == 0
    assert grown.tensors[TABLE].shape == (1 + NUM_TYPES, checkpoint.config.embedding_width)
    ids, types = torch.arange(5, 12), torch.tensor([0, 1, 2, 3, 4, 0, 0])
    outputs = [
        build_encoder(one).eval()(ids, given, Sequences.from_lengths([7]))
        for one, given in ((checkpoint, torch.zeros_like(types)), (grown, types))
    ]
    assert torch.equal(*outputs)


def test_it_is_taught_saved_combined_exported_and_gone_on_from(modern, squad_files, tmp_path):
    asked = {"train": squad_files["v2.0"], "dev": squad_files["v2.0"]}
    run = finetune("qa", model=modern, **asked, out=tmp_path / "run", overrides=FAST)
    assert run.task.marks_shared and read_folder(run.final).tensors[TABLE].abs().amax(1).gt(0).all()
    assert "it loads with spanwise.load alone" in (run.final / "README.md").read_text()
    again = finetune("qa", model=run.final, **asked, out=tmp_path / "again", overrides=SHORT)
    assert read_folder(again.final).config.num_token_types == 1 + NUM_TYPES
    both = combine(modern, [run.final], tmp_path / "both").folder
    assert read_folder(both).config.num_token_types == 0
    export_onnx(both, tmp_path / "onnx", task="qa")  # raises where its numbers are not ours
    scores = [evaluate("qa", model=folder, data=squad_files["v2.0"]).scores for folder in (run.final, both)]
    assert scores[0] == scores[1] and scores[0]["f1"] > 80


def test_an_encoder_that_transformers_runs_gets_no_token_types(modern):
    foreign = dataclasses.replace(read_folder(modern), their_settings={})
    assert QuestionAnswering(shared_words="auto").taught_from(foreign).shared_words == "unmarked"
    with pytest.raises(ConfigError, match=r"has no token types, and transformers runs it.*unmarked"):
        with_token_types(foreign, (0,))


@pytest.mark.parametrize("rank", [None, 4])
def test_one_folder_of_several_tasks_keeps_the_rows_with_the_task(run, pretrained_folder, squad_files, tmp_path, rank):
    both = combine(pretrained_folder, [run.final], tmp_path / "both", ranks={"qa": rank}).folder
    assert read_folder(both).config.num_token_types == 2
    loaded = load_task_model(both, "qa", device="cpu")
    assert loaded.task.marks_shared and loaded.model.encoder.config.num_token_types == 2 + NUM_TYPES
    table = read_folder(run.final).tensors[TABLE]
    assert torch.equal(loaded.model.encoder.embeddings.token_type.weight, table)
    convert_task(both, "qa", tmp_path / "alone")
    scores = [evaluate("qa", model=folder, data=squad_files["v2.0"]).scores for folder in (both, tmp_path / "alone")]
    assert scores[0] == scores[1]


def test_a_table_of_another_width_is_still_refused(run, pretrained_folder, tmp_path):
    from safetensors.torch import load_file, save_file

    both = combine(pretrained_folder, [run.final], tmp_path / "both").folder
    file, record = both / "tasks" / "qa" / "changes.safetensors", both / "spanwise.json"
    tensors = load_file(file)
    tensors[f"whole.{TABLE}"] = tensors[f"whole.{TABLE}"][:, :-1].contiguous()
    save_file(tensors, file)
    told = json.loads(record.read_text())
    told["tensor_files"]["tasks/qa/changes.safetensors"]["sha256"] = sha256_of(file)
    record.write_text(json.dumps(told))
    (both / "manifest.json").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="token_type"):
        load_task_model(both, "qa", device="cpu")


def test_the_class_of_transformers_says_the_same_for_the_same_types(run, squad20):
    import transformers

    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(run.final).eval()
    loaded = load_task_model(run.final, "qa", device="cpu")
    windows = loaded.task.featurize(squad20, loaded.tokenizer, loaded.model.encoder.config, training=False)
    for row, output in enumerate(loaded.model.outputs(windows)):
        batch = windows.assemble(np.array([row]))
        with torch.no_grad():
            said = theirs(input_ids=batch.input_ids[None], token_type_ids=batch.token_type_ids[None])
        expected = torch.stack([said.start_logits[0], said.end_logits[0]], dim=1)
        torch.testing.assert_close(torch.from_numpy(output), expected, atol=1e-5, rtol=1e-5)


def test_a_converted_folder_keeps_the_marks(run, squad_files, tmp_path):
    convert(run.final, tmp_path / "b")
    assert evaluate("qa", model=tmp_path / "b", data=squad_files["v2.0"], precision="fp32").scores == run.scores
