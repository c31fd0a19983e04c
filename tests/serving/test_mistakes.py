"""What a program is told of its mistakes: where, what came, what was expected; no names of our classes."""

import pytest
from pydantic import ValidationError

from spanwise.serving.bodies import ITEMS, body_of
from spanwise.serving.mistakes import RESPONSES, sentence


def told(task: str, body: object) -> str:
    with pytest.raises(ValidationError) as caught:
        body_of(task).model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    return sentence(errors, body, task)


@pytest.mark.parametrize(
    "task, body, words",
    [
        ("question-answering", {}, "inputs is missing; inputs may be {"),
        ("question-answering", {"inputs": 3}, 'inputs: a number came; inputs may be {"question": "Who built'),
        ("question-answering", {"inputs": {"question": "x"}}, "inputs.context is missing; "),
        ("question-answering", {"inputs": [{"question": "x"}]}, "inputs.0.context is missing; "),
        ("question-answering", {"inputs": {"question": "x", "documents": 3}}, "inputs.documents: a number came; "),
        ("question-answering", {"inputs": {"question": "x", "kontext": "y"}}, "inputs.kontext is unknown here; inputs"),
        ("question-answering", {"inputs": [], "options": {"topk": 1}}, "options.topk is unknown here; known are "),
        ("question-answering", {"inputs": [], "options": {"top_k": 0}}, "options.top_k: a number came. Input"),
        ("coreference", {"inputs": ["a", None]}, 'inputs.1: null came; inputs may be "Ada Smith'),
        ("coreference", {"inputs": "a", "modle": "b"}, "modle is unknown here; known are inputs, options, model."),
    ],
)
def test_a_sentence_says_where_and_what_was_expected(task, body, words):
    assert told(task, body).startswith(words), told(task, body)


@pytest.mark.parametrize("task", ITEMS)
@pytest.mark.parametrize("body", [{"inputs": 1}, {"inputs": [[1]]}, {"inputs": {"a": {}}}, {"options": []}, {}, []])
def test_no_sentence_names_a_class_of_ours(task, body):
    said = told(task, body)
    assert "came" in said or "missing" in said or "unknown" in said
    assert not [name for name in ("AskedOf", "TextPair", "Mention", "Choices", "Words", "list[") if name in said]


def test_every_status_of_an_error_has_its_form():
    assert set(RESPONSES) == {200, 400, 401, 404, 408, 413, 415, 421, 422, 429, 503, 504}
