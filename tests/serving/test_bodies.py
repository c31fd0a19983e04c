"""What bodies may hold."""

import pytest
from pydantic import ValidationError

from spanwise.errors import ConfigError
from spanwise.serving.bodies import EXAMPLES, ITEMS, body_of, check_size, texts_of
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
