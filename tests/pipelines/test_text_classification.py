"""The pipeline gives what the task predicts, and says what it did not read."""

import json

import pytest

import spanwise
from spanwise.errors import DataError
from spanwise.pipelines.given import InputError
from spanwise.tasks.evaluate import predict
from spanwise.tasks.run import finetune

FAST = ["training.max_steps=3", "training.precision=fp32", "task.max_length=16"]
LONG = "wide water " * 40


@pytest.fixture(scope="module")
def models(pipeline_start, tmp_path_factory):
    """A model of single texts and one of pairs, with their files."""
    folder = tmp_path_factory.mktemp("models")
    rows = {"single": "text\tlabel\nHello there\ta\nBye now\tb\n", "pair": "text1\ttext2\tlabel\na\tb\tx\nc\td\ty\n"}
    found = {}
    for name, content in rows.items():
        path = folder / f"{name}.tsv"
        path.write_text(content)
        run = finetune("classification", model=pipeline_start, train=path, out=folder / name, overrides=FAST)
        found[name] = (run.final, path)
    return found


def test_the_pipeline_says_what_predict_writes(models, tmp_path):
    model, path = models["single"]
    predict("classification", model=model, input=path, output=tmp_path / "p.json", precision="fp32")
    written = json.loads((tmp_path / "p.json").read_text())
    classify = spanwise.pipeline("text-classification", model=model)
    texts = ["Hello there", "Bye now"]
    found = classify(texts)
    assert found == [written["0"], written["1"]]
    assert classify(texts[0]) == found[0] and list(classify(text for text in texts)) == found
    assert classify({"text": texts[1]}) == found[1]
    assert set(found[0]) == {"label", "score", "scores", "num_windows", "num_dropped_tokens"}


def test_long_texts_are_cut_and_counted_read_in_windows_or_refused(models):
    model = models["single"][0]
    cut = spanwise.pipeline("text-classification", model=model)(LONG)
    assert cut["num_windows"] == 1 and cut["num_dropped_tokens"] > 50
    windows = spanwise.pipeline("text-classification", model=model, on_overflow="windows")(LONG)
    assert windows["num_windows"] > 4 and windows["num_dropped_tokens"] == 0
    refuse = spanwise.pipeline("text-classification", model=model, on_overflow="error")
    with pytest.raises(DataError, match=r"input 1: .* at most 16 fit"):
        refuse(["short", LONG])
    with pytest.raises(ValueError, match="on_overflow 'cut'"):
        spanwise.pipeline("text-classification", model=model, on_overflow="cut")


def test_pairs_are_asked_for_by_a_model_of_pairs(models):
    classify = spanwise.pipeline("text-classification", model=models["pair"][0])
    assert classify({"text": "a", "text_pair": "b"})["label"] in ("x", "y")
    with pytest.raises(InputError, match="fine-tuned on pairs"):
        classify("a")
    with pytest.raises(InputError, match="fine-tuned on single texts"):
        spanwise.pipeline("text-classification", model=models["single"][0])({"text": "a", "text_pair": "b"})
    with pytest.raises(InputError, match="input 0: a text or"):
        classify([3])


def test_a_causal_model_of_pairs_adds_both_orders_and_says_what_it_did_not_read(causal_model_folder, tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = [("the river", "a bridge", "4.5"), ("the bells", "bread", "1.5")]
    path.write_text("sentence1\tsentence2\tscore\n" + "".join("\t".join(row) + "\n" for row in rows))
    changes = ["training.max_steps=2", "training.precision=fp32"]
    run = finetune(
        "classification", model=causal_model_folder, train=path, out=tmp_path / "r", recipe="gpt-1", overrides=changes
    )
    like = spanwise.pipeline("text-classification", model=run.final)
    one, other = like([{"text": a, "text_pair": b} for a, b in (("the river", "bread"), ("bread", "the river"))])
    assert one["value"] == pytest.approx(other["value"], abs=1e-5)  # the order plays no part
    assert one["num_windows"] == 1 and one["num_dropped_tokens"] == 0
    long = {"text": "the old river " * 30, "text_pair": "bread"}
    assert like(long)["num_dropped_tokens"] > 40
    assert spanwise.pipeline("text-classification", model=run.final, on_overflow="windows")(long)["num_windows"] > 2
    with pytest.raises(DataError, match="and at most 40 fit"):
        spanwise.pipeline("text-classification", model=run.final, on_overflow="error")(long)
    written = spanwise.pipeline("text-generation", model=run.final)("the old river", max_new_tokens=3)
    assert written["num_tokens"] == 3  # it goes on guessing the next token
