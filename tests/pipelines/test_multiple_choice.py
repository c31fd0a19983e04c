"""The multiple-choice pipeline: any number of choices, one input, a list, a stream."""

import json

import pytest

import spanwise
from spanwise.errors import DataError
from spanwise.pipelines.given import InputError
from spanwise.tasks.run import finetune

ITEM = {"context": "The river rose.", "question": "Why?", "choices": ["It rained.", "It was late.", "A dog sang."]}


@pytest.fixture(scope="module")
def model(pipeline_start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices")
    path = folder / "train.jsonl"
    path.write_text("\n".join(json.dumps({**ITEM, "answer": answer}) for answer in (0, 1)))
    changes = ["training.max_steps=2", "training.precision=fp32", "task.max_length=40"]
    return finetune("multiple-choice", model=pipeline_start, train=path, out=folder / "run", overrides=changes).final


def test_one_a_list_and_a_stream_say_the_same(model):
    choose = spanwise.pipeline("multiple-choice", model=model)
    two = {"question": "Why?", "choices": ["Yes", "No"]}
    found = choose([ITEM, two])
    assert found[0]["answer"] == ITEM["choices"][found[0]["choice"]] and len(found[0]["scores"]) == 3
    assert sum(found[1]["scores"]) == pytest.approx(1) and found[1]["num_windows"] == 1
    stream = list(choose(item for item in [ITEM, two]))
    assert [answer["choice"] for answer in stream] == [answer["choice"] for answer in found]


def test_long_passages_are_cut_and_counted_or_refused(model):
    long = {**ITEM, "context": "The wide river rose. " * 20}
    assert spanwise.pipeline("multiple-choice", model=model)(long)["num_dropped_tokens"] > 50
    with pytest.raises(DataError, match=r"input 1: .* more than fit into 40"):
        spanwise.pipeline("multiple-choice", model=model, on_overflow="error")([{**ITEM, "context": "a"}, long])


@pytest.mark.parametrize(
    "wrong", ["a", {"context": "a"}, {"choices": ["a", "b"]}, {**ITEM, "choices": ["a"]}, {**ITEM, "context": 3}]
)
def test_the_input_that_is_none_is_named(model, wrong):
    with pytest.raises(InputError, match="input 1"):
        spanwise.pipeline("multiple-choice", model=model)([ITEM, wrong])


def test_a_causal_model_chooses_in_its_own_layout(causal_model_folder, tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps({**ITEM, "answer": answer}) for answer in (0, 1)))
    changes = ["training.max_steps=2", "training.precision=fp32"]
    run = finetune(
        "multiple-choice", model=causal_model_folder, train=path, out=tmp_path / "r", recipe="gpt-1", overrides=changes
    )
    choose = spanwise.pipeline("multiple-choice", model=run.final)
    found = choose([ITEM, {**ITEM, "context": "The old river ran. " * 20}])
    assert sum(found[0]["scores"]) == pytest.approx(1) and found[0]["num_dropped_tokens"] == 0
    assert found[1]["num_dropped_tokens"] > 40 and len(found[1]["scores"]) == 3
