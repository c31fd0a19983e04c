"""The tagging pipeline: offsets of the text as given, any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.errors import DataError
from spanwise.pipelines.given import InputError
from spanwise.tasks.run import finetune

FAST = ["training.max_steps=40", "training.learning_rate=1e-2", "training.precision=fp32", "task.max_length=32"]
ROWS = {
    "words": "The O\nHan B-LOC\nRiver I-LOC\nis O\n494 B-LEN\nkm I-LEN\n\nSeoul B-LOC\nis O\n",
    "characters": "한\tB-LC\n강\tI-LC\n은\tO\n \tO\n4\tB-QT\nk\tI-QT\nm\tI-QT\n",
}


@pytest.fixture(scope="module", params=["words", "characters"])
def tag(request, pipeline_start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tags")
    path = folder / "train.txt"
    path.write_text(ROWS[request.param], encoding="utf-8")
    run = finetune("tagging", model=pipeline_start, train=path, out=folder / "run", overrides=FAST)
    return spanwise.pipeline("token-classification", model=run.final)


@settings(max_examples=30, deadline=None)
@given(text=st.text(min_size=1, max_size=60).filter(lambda text: text.strip()))
def test_every_span_is_what_stands_at_its_offsets(tag, text):
    found = tag(text)
    assert found["num_windows"] >= 1 and found["num_dropped_tokens"] == 0
    for span in found["spans"]:
        assert text[span["start"] : span["end"]] == span["text"] != "" and 0 < span["score"] <= 1


def test_one_text_a_list_and_a_stream_say_the_same(tag):
    texts = ["The Han River is long", "한강은 4km"]
    found = tag(texts)
    assert [tag(texts[0]), tag(texts[1])] == found == list(tag(text for text in texts))
    assert tag({"words": texts[0].split()}) == found[0]


def test_long_texts_are_read_in_windows_or_refused(tag):
    long = "The Han River is 494 km " * 20
    assert tag(long)["num_windows"] > 3
    tag.task = type(tag.task)(**{**tag.task.__dict__, "on_overflow": "error"})
    try:
        with pytest.raises(DataError, match=r"input 1: .* at most 32 fit"):
            tag(["a", long])
    finally:
        tag.task = type(tag.task)(**{**tag.task.__dict__, "on_overflow": "windows"})


def test_inputs_that_are_none_are_named(tag):
    for wrong in (3, "", {"words": []}, {"words": ["a", ""]}, {"text": "a"}):
        with pytest.raises(InputError, match="input 0"):
            tag([wrong])
