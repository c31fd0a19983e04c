"""Questions by the pointer of pre-training: started from, taught, saved, read by other programs, asked in every way."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.nn.int8.byte_machine import refused_here
from tests.tasks.conftest import FAST, RIVER, SHORT

import spanwise
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.convert import convert
from spanwise.interop.huggingface import read_folder
from spanwise.tasks.batches import Packing
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.run import finetune

HEADS = {"mlm", "span_selection"}
SHORT_TAGS = [change for change in SHORT if "doc_stride" not in change]


@pytest.fixture(scope="module")
def run(selection_folder, squad_files, tmp_path_factory):
    """The 2.0 questions learnt by heart from the pointer, and what was said of it."""
    out, path = tmp_path_factory.mktemp("pointer") / "run", squad_files["v2.0"]
    return finetune("qa", model=selection_folder, train=path, dev=path, out=out, overrides=FAST)


def test_the_pointer_learns_questions_and_which_have_no_answer_and_comes_back(run, squad_files, tmp_path):
    assert run.scores["exact"] == run.scores["NoAns_exact"] == 100.0 and run.scores["calibration"]["confidence"] > 50
    checkpoint = read_folder(run.final)
    assert checkpoint.source_class == "SplinterForQuestionAnswering" and checkpoint.heads.keys() == HEADS
    assert checkpoint.record["task"]["head"] == "span_selection"
    assert "[QUESTION] behind each question points" in (run.final / "README.md").read_text()
    path = squad_files["v2.0"]
    assert evaluate("qa", model=run.final, data=path, precision="fp32").scores == run.scores
    predict("qa", model=run.final, input=path, output=tmp_path / "p.json", precision="fp32")
    dev = json.loads((run.final.parent / "dev_predictions.json").read_text())
    assert json.loads((tmp_path / "p.json").read_text()) == dev and dev["length"] == "494 km" and dev["price"] == ""


def test_training_starts_from_the_pointer_of_the_folder(selection_folder, squad_files, tmp_path):
    changes = [*SHORT[:-1], "training.max_steps=1", "training.learning_rate=1e-9"]
    still = finetune("qa", model=selection_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=changes)
    before, after = (read_folder(folder).heads["span_selection"] for folder in (selection_folder, still.final))
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in before)
    assert still.task.null_threshold is None and still.task.head == "span_selection"
    fresh = finetune(
        "qa",
        model=selection_folder,
        train=squad_files["1.1"],
        out=tmp_path / "f",
        overrides=[*changes, "fresh_head=true"],
    )
    drawn = read_folder(fresh.final).heads["span_selection"]
    assert (before["start.weight"] - drawn["start.weight"]).abs().mean() > 0.01


def test_the_class_of_transformers_gives_the_same_logits_for_what_its_tokenizer_makes(run, squad20):
    import transformers

    theirs, report = transformers.AutoModelForQuestionAnswering.from_pretrained(run.final, output_loading_info=True)
    assert type(theirs).__name__ == "SplinterForQuestionAnswering"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    words = transformers.AutoTokenizer.from_pretrained(run.final)
    loaded = load_task_model(run.final, "qa", device="cpu")
    windows = loaded.task.featurize(squad20, loaded.tokenizer, loaded.model.encoder.config, training=False)
    outputs = loaded.model.outputs(windows)
    encoded = words(
        [question.text for question in squad20.questions],
        [squad20.context_of(question) for question in squad20.questions],
        truncation="only_second",
        max_length=128,
        stride=0,
        padding=True,
        return_tensors="pt",
    )
    with torch.no_grad():
        said = theirs.eval()(**encoded)
    firsts = [int(np.flatnonzero(windows.question_W == number)[0]) for number in range(len(squad20.questions))]
    for number, row in enumerate(firsts):
        length = int(windows.lengths_W[row])
        assert encoded["attention_mask"][number].sum() == length
        expected = torch.stack([said.start_logits[number, :length], said.end_logits[number, :length]], dim=1)
        torch.testing.assert_close(torch.from_numpy(outputs[row]), expected, atol=1e-5, rtol=1e-5)


def test_unseen_separators_are_those_that_attention_leaves_out(selection_folder, squad_files, squad11, tmp_path):
    import transformers

    changes = [*SHORT, "task.separators=unseen"]
    run = finetune("qa", model=selection_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=changes)
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(run.final).eval()
    loaded = load_task_model(run.final, "qa", device="cpu")
    assert loaded.task.separators == "unseen"
    seen = QuestionAnswering(head="span_selection", doc_stride=40)
    windows, whole = (
        task.featurize(squad11, loaded.tokenizer, loaded.model.encoder.config, training=False)
        for task in (loaded.task, seen)
    )
    outputs = loaded.model.outputs(windows)
    for row in range(len(windows)):
        ids = whole.assemble(np.array([row])).input_ids[None]
        mask = (ids != loaded.tokenizer.sep_id).long()
        with torch.no_grad():
            said = theirs(input_ids=ids, attention_mask=mask)
        expected = torch.stack([said.start_logits[0], said.end_logits[0]], dim=1)[mask[0].bool()]
        torch.testing.assert_close(torch.from_numpy(outputs[row]), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_outputs_of_a_window_are_the_same_bits_in_any_pack(run, squad20, threads):
    loaded = load_task_model(run.final, "qa", device="cpu")
    windows = loaded.task.featurize(squad20, loaded.tokenizer, loaded.model.encoder.config, training=False)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        packed = [loaded.model.outputs(windows, packing=Packing(size)) for size in (1, 150, 100_000)]
    finally:
        torch.set_num_threads(before)
    for other in packed[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(packed[0], other, strict=True))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_pipeline_answers_by_the_tasks_and_by_the_classic_rules(run, precision):
    if precision == "int8" and refused_here():
        with pytest.raises(ConfigError, match="int8"):
            spanwise.pipeline("question-answering", model=run.final, precision=precision)
        return
    ask = spanwise.pipeline("question-answering", model=run.final, precision=precision)
    asked = {"question": "How long is the Han?", "context": RIVER}
    found = ask(asked, top_k=3)
    assert found[0]["answer"] == "494 km" and found[0]["num_windows"] > 1
    classic = ask(
        asked, rules="classic", max_seq_len=64, doc_stride=16, max_answer_len=8, handle_impossible_answer=True
    )
    assert classic["answer"] == "494 km" and RIVER[classic["start"] : classic["end"]] == classic["answer"]
    in_many = ask(question="How long is the Han?", documents=["Green tea is picked in April.", RIVER])
    assert (in_many["answer"], in_many["document"]) == ("494 km", 1)


def test_a_converted_folder_answers_alike(run, squad_files, tmp_path):
    converted = convert(run.final, tmp_path / "b")
    assert converted.written.architecture == "SplinterForQuestionAnswering"
    scores = evaluate("qa", model=tmp_path / "b", data=squad_files["v2.0"], precision="fp32").scores
    assert scores == run.scores


def test_the_head_may_be_named(selection_folder, pretrained_folder, squad_files, tmp_path):
    asked = {"train": squad_files["1.1"]}
    other = finetune(
        "qa", model=selection_folder, **asked, out=tmp_path / "a", overrides=[*SHORT, "task.head=boundary"]
    )
    assert read_folder(other.final).source_class == "BertForQuestionAnswering"
    assert read_folder(other.final).heads.keys() == {*HEADS, "qa"}  # what pre-training made is kept
    assert load_task_model(other.final, "qa", device="cpu").task.head == "boundary"
    again = finetune("qa", model=other.final, **asked, out=tmp_path / "b", overrides=SHORT)
    assert again.task.head == "boundary"  # the folder's own head goes before a pointer that was kept
    fresh = finetune(
        "qa", model=pretrained_folder, **asked, out=tmp_path / "c", overrides=[*SHORT, "task.head=span_selection"]
    )
    size = read_folder(pretrained_folder).config.vocab_size
    loaded = load_task_model(fresh.final, "qa", device="cpu")
    assert loaded.tokenizer.question_id == size and loaded.model.encoder.config.vocab_size == size + 1
    assert finetune("qa", model=pretrained_folder, **asked, out=tmp_path / "d", overrides=SHORT).task.head == "boundary"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["task.head=span_selection", "task.spans=joint"], "chooses start and end apart"),
        (["task.head=span_selection", "task.answerability=classifier"], "task.answerability=null_score"),
        (["task.head=boundary", "task.separators=unseen"], r"windows with \[QUESTION\]"),
    ],
)
def test_options_of_the_other_head_are_refused(selection_folder, squad_files, tmp_path, changes, words):
    with pytest.raises(ConfigError, match=words):
        finetune("qa", model=selection_folder, train=squad_files["v2.0"], out=tmp_path / "a", overrides=changes)


def test_a_recipe_of_another_head_takes_that_head(selection_folder, squad_files, tmp_path):
    run = finetune(
        "qa", model=selection_folder, train=squad_files["v2.0"], recipe="electra", out=tmp_path / "a", overrides=SHORT
    )
    assert run.task.head == "boundary" and "qa" in read_folder(run.final).heads


def test_an_untaught_pointer_answers_with_a_warning_and_never_for_another_task(
    selection_folder, squad_files, tmp_path, caplog
):
    scores = evaluate("qa", model=selection_folder, data=squad_files["1.1"]).scores
    assert 0 <= scores["f1"] <= 100 and "never taught this task" in caplog.text
    (tmp_path / "n.txt").write_text("The O\nHan B-LOC\nRiver I-LOC\n\nkm O\nSeoul B-LOC\n")
    tagger = finetune(
        "tagging", model=selection_folder, train=tmp_path / "n.txt", out=tmp_path / "t", overrides=SHORT_TAGS
    )
    assert "span_selection" in read_folder(tagger.final).heads
    with pytest.raises(CheckpointError, match="was fine-tuned for the task 'tagging'"):
        load_task_model(tagger.final, "qa")
    taught = finetune("qa", model=tagger.final, train=squad_files["1.1"], out=tmp_path / "q", overrides=SHORT)
    assert taught.task.head == "span_selection"


def test_a_folder_of_splinters_own_class_is_taught_and_asked(vocabulary_folder, squad_files, tmp_path, caplog):
    """As `tau/splinter-base`: weights of transformers, `vocab.txt` with [QUESTION] among the first ids, no record."""
    import transformers

    pieces = (vocabulary_folder / "vocab.txt").read_text().splitlines()
    pieces = [*pieces[:5], "[QUESTION]", *pieces[5:]]
    shape = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    config = transformers.SplinterConfig(
        vocab_size=len(pieces), max_position_embeddings=128, question_token_id=5, **shape
    )
    for name in ("SplinterForQuestionAnswering", "SplinterModel"):
        folder = tmp_path / name
        getattr(transformers, name)(config).save_pretrained(folder)
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
        run = finetune("qa", model=folder, train=squad_files["1.1"], out=tmp_path / "runs" / name, overrides=SHORT)
        assert run.task.head == "span_selection"  # the one head of this family, trained or fresh
        assert read_folder(run.final).role_ids == {"question": 5}
    assert evaluate("qa", model=tmp_path / "SplinterForQuestionAnswering", data=squad_files["1.1"]).scores["f1"] >= 0
    assert "never taught" not in caplog.text  # its class says that it answers
    with pytest.raises(CheckpointError, match="no head for 'qa'"):
        load_task_model(tmp_path / "SplinterModel", "qa")


def test_gradients_reach_the_encoder_and_every_part_of_the_pointer(selection_folder, squad11, tmp_path):
    loaded = load_task_model(selection_folder, "qa", device="cpu")
    windows = loaded.task.featurize(squad11, loaded.tokenizer, loaded.model.encoder.config, training=True)
    loss = loaded.model(windows.assemble(np.arange(len(windows))))["answer"]
    loss.sum.backward()
    assert float(loss.sum.detach()) / len(windows) == pytest.approx(np.log(windows.lengths_W).mean(), rel=0.2)
    for name, parameter in loaded.model.named_parameters():
        if "position" not in name and "token_type" not in name:
            assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_the_tensors_of_the_folder_are_those_of_the_class_and_no_more(run):
    names = load_file(run.final / "model.safetensors").keys()
    assert {name.partition(".")[0] for name in names} == {"splinter", "splinter_qass"}
    beside = load_file(run.final / "heads.safetensors").keys()
    assert {name.partition(".")[0] for name in beside} == {"mlm"}
