"""What bodies may hold."""

import contextlib

import pytest
from pydantic import ValidationError

from spanwise.errors import ConfigError
from spanwise.serving.bodies import EXAMPLES, ITEMS, body_of, check_blanks, check_size, texts_of
from spanwise.serving.limits import Limits


@pytest.mark.parametrize("task", ITEMS)
def test_the_example_of_every_task_is_a_body_of_it(task):
    body = body_of(task).model_validate({"inputs": EXAMPLES[task]})
    assert body_of(task).model_validate({"inputs": [EXAMPLES[task]] * 2}).inputs == [body.inputs] * 2


@pytest.mark.parametrize("options", [{"top_k": 101}, {"max_seq_len": 8}, {"model": "x"}, {"top_k": "3"}])
def test_options_are_those_of_the_pipeline_within_bounds(options):
    body_type = body_of("question-answering")
    assert body_type.model_validate({"inputs": EXAMPLES["question-answering"], "options": {"top_k": 100}})
    with pytest.raises(ValidationError):
        body_type.model_validate({"inputs": EXAMPLES["question-answering"], "options": options})


def test_all_texts_of_an_input_count():
    limits = Limits(text=10, request=25, documents=2, pieces=3)
    assert list(texts_of({"question": "a", "documents": ["b", "c"], "n": 3})) == ["a", "b", "c"]
    check_size([{"question": "a", "documents": ["b" * 10, "c" * 10]}], limits)
    for item, words in (
        ({"documents": ["a"] * 3}, "3 documents"),
        ({"words": ["a"] * 4}, "4 words"),
        ({"text": "a" * 11}, "11 characters"),
        ({"x": "a" * 10, "y": "a" * 10, "z": "a" * 10}, "30 characters together"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_size([item], limits)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([{"question": "a", "choices": ["b"] * 3}], "3 choices came; at most 2 are taken"),
        ([{"text": "a", "spans": [[0, 1]] * 5}], "5 spans came; at most 4 are taken"),
        ([{"text": "a", "spans": [[0, 1]] * 3}] * 2, "6 spans together; at most 4 are taken"),
        ([{"text": "a" * 20, "spans": [[0, 20]] * 2}], "their spans have 60 characters together; at most 50"),
    ],
)
def test_choices_and_spans_have_limits_of_their_own(items, words):
    limits = Limits(request=50, choices=2, spans=4)
    check_size([{"text": "a" * 20, "spans": [[0, 5]] * 4}], limits)
    with pytest.raises(ConfigError, match=words):
        check_size(items, limits)


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (["[MASK] a " * 11_000], {}, r"has 11,000 \[MASK\]; at most 512 are taken"),
        (["[MASK] a " * 300] * 2, {}, r"has 600 \[MASK\]; at most 512"),
        (["[MASK] a " * 103], {"joint": True}, r"has 103 \[MASK\] to fill with 5 beams; at most 102"),
        (["[MASK]" * 6], {"joint": True, "num_beams": 20, "top_k": 100}, None),
        (["[MASK]" * 6], {"joint": True, "top_k": 100}, r"6 \[MASK\] to fill with 100 beams; at most 5 are"),
        (["[MASK] " + "a" * 90_000], {}, None),
        (["[MASK] " + "a" * 90_000], {"top_k": 100}, r"9,000,700 characters in all; at most 5,000,000"),
        (["[MASK] " * 5 + "a" * 12_000], {"joint": True, "top_k": 100}, None),  # one run: each phrase comes once
        (["[MASK] " * 20 + "a" * 3_000], {"targets": ["river", "bridge"], "top_k": 100}, None),
    ],
)
def test_blanks_are_limited_by_the_work_they_make_and_the_text_they_repeat(texts, options, words):
    with contextlib.nullcontext() if words is None else pytest.raises(ConfigError, match=words):
        check_blanks(texts, "[MASK]", options, Limits())
