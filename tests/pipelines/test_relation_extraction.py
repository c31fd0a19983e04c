"""The relation pipeline: mentions by characters, answers with what was dropped."""

import json

import pytest

import spanwise
from spanwise.errors import DataError
from spanwise.pipelines.given import InputError
from spanwise.tasks.run import finetune

TEXT = "The Han flows through Seoul"
ITEM = {"text": TEXT, "subject": [4, 7], "object": {"start": 22, "end": 27, "type": "CITY"}}


@pytest.fixture(scope="module")
def relate(pipeline_start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("relations")
    path = folder / "train.jsonl"
    rows = [{**ITEM, "label": "in"}, {"text": "Ada and Bob", "subject": [0, 3], "object": [8, 11], "label": "none"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    changes = ["training.max_steps=2", "training.precision=fp32", "task.markers=punct", "task.max_length=32"]
    run = finetune("relation", model=pipeline_start, train=path, out=folder / "run", overrides=changes)
    return run.final


def test_answers_repeat_the_mentions_with_their_texts(relate):
    pipeline = spanwise.pipeline("relation-extraction", model=relate)
    found = pipeline(ITEM)
    assert found["label"] in ("in", "none") and found["num_windows"] == 1 and found["num_dropped_tokens"] == 0
    assert found["subject"] == {"start": 4, "end": 7, "text": "Han"} and found["object"]["text"] == "Seoul"
    assert pipeline([ITEM, ITEM]) == [found, found] == list(pipeline(item for item in [ITEM, ITEM]))


def test_long_texts_keep_both_mentions_and_say_what_was_dropped_or_are_refused(relate):
    long = {**ITEM, "text": TEXT + " and on it goes" * 20}
    assert spanwise.pipeline("relation-extraction", model=relate)(long)["num_dropped_tokens"] > 20
    with pytest.raises(DataError, match=r"input 1: .* at most 32 fit"):
        spanwise.pipeline("relation-extraction", model=relate, on_overflow="error")([ITEM, long])


@pytest.mark.parametrize(
    "wrong",
    [
        "a",
        {"text": "a"},
        {**ITEM, "subject": [4, 99]},
        {**ITEM, "object": "Seoul"},
        {**ITEM, "text": ""},
        {**ITEM, "subjct": [0, 3]},
    ],
)
def test_the_input_that_is_none_is_named(relate, wrong):
    with pytest.raises(InputError, match="input 1"):
        spanwise.pipeline("relation-extraction", model=relate)([ITEM, wrong])
