"""The pipeline gives what the task predicts, and says what it did not read."""

import json

import pytest

import spanwise
from spanwise.errors import DataError
from spanwise.pipelines.several import InputError
from spanwise.tasks.run import finetune, predict

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
