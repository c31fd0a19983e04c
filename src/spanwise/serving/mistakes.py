"""What a program is told of its mistakes: a sentence on a body that was not understood, and the form of all errors."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from spanwise.serving.bodies import EXAMPLES, body_of

KINDS = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
KINDS[type(None)] = "null"


class Mistake(BaseModel):
    """Its kind, and a sentence on what came and what was expected."""

    type: str
    message: str


class ErrorAnswer(BaseModel):
    """The form of every error."""

    error: Mistake


class Answers(BaseModel):
    """The model that answered; `answers` is one answer or a list, as `inputs` was, with the keys of the pipeline."""

    model: str
    answers: Any


STATUSES = {
    400: "The body ended too early, is not UTF-8, or is nested too deeply.",
    401: "The key is missing or another one.",
    404: "There is no such path, or no such model for the task.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body is not of type application/json.",
    421: "The request names another host.",
    422: "The input can't be answered; the message says why.",
    429: "There is no room now; `Retry-After` says after how many seconds to come again.",
    503: "The process that computed has ended; ask again.",
    504: "There was no answer within the deadline.",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": Answers, "description": "The answers."},
    **{status: {"model": ErrorAnswer, "description": words} for status, words in STATUSES.items()},
}


def sentence(errors: Sequence[Mapping[str, Any]], body: object, task: str) -> str:
    """Return what is wrong with the body of a request for a task, from what pydantic found.

    Inputs may have several forms, and each has errors of its own; the one that lies deepest in the body is of the form
    that was meant.
    """
    error = max(errors, key=lambda one: (len(_place(one["loc"], body)), one["type"] != "extra_forbidden"))
    place = ".".join(_place(error["loc"], body))
    if error["type"] == "json_invalid":
        return f"the body is no JSON: {error['ctx']['error']} (character {error['loc'][-1]})."
    example = f"inputs may be {json.dumps(EXAMPLES[task])}."
    if error["type"] == "missing":
        name = str(error["loc"][-1])
        return f"{place}.{name} is missing; {example}" if place else f"{name} is missing; {example}"
    if error["type"] == "extra_forbidden":
        known = _known(task, error["loc"])
        return f"{place} is unknown here; " + (f"known are {', '.join(known)}." if known else example)
    came = KINDS.get(type(error["input"]), "something else")
    if len(errors) > 1 and error["type"].endswith("_type"):  # no single kind was expected
        return f"{place}: {came} came; {example}"
    return f"{place or 'the body'}: {came} came. {error['msg']}."


def _place(location: Sequence[int | str], body: Any) -> list[str]:
    """Return the steps of a location that lead on in the body: what pydantic adds between are names of its own."""
    steps, here = [], body
    for step in location[1:]:
        try:
            here = here[step]
        except (TypeError, KeyError, IndexError):
            continue
        steps.append(str(step)[:40])
    return steps


def _known(task: str, location: Sequence[int | str]) -> list[str]:
    """Return the names that may stand where an unknown one came: in the body, or in its options."""
    body_type = body_of(task)
    if location[1] != "options":
        return list(body_type.model_fields) if len(location) == 2 else []
    options = body_type.model_fields["options"].annotation.__args__[0]  # type: ignore[union-attr]
    return list(options.model_fields)
