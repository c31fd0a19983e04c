"""The paths of the server: a POST for each task, its description, its health, its metrics and its page."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import Any, cast

import numpy as np
from fastapi import Body as FromBody
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from spanwise.errors import SpanwiseError
from spanwise.pipelines.fill_mask import FillMaskPipeline
from spanwise.serving.batcher import Batcher, Job, QueueFullError, StoppingError
from spanwise.serving.bodies import ITEMS, Body, body_of, check_blanks, check_size, texts_of
from spanwise.serving.guard import Guard, Refused, busy, error_body, stopping
from spanwise.serving.limits import Limits
from spanwise.serving.metrics import Metrics
from spanwise.serving.mistakes import RESPONSES, sentence
from spanwise.serving.models import ServedModel
from spanwise.serving.workers import Answerer, WorkerLostError, in_threads

PAGE = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "words.js": ("words.js", "text/javascript"),
    "draw.js": ("draw.js", "text/javascript"),
    "page.js": ("page.js", "text/javascript"),
}
SAFE = {  # the page loads nothing from elsewhere, and says so to the browser
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
DESCRIPTION = """Fine-tuned models behind one address. Every task has a path that takes `inputs` (one, or a list),
`options` (those of the Python pipeline) and `model`, and gives `{"model", "answers"}` with the keys of the pipeline.
An answer does not depend on other requests, to the last byte. Errors are `{"error": {"type", "message"}}`."""


def make_app(
    models: Mapping[str, ServedModel],
    *,
    limits: Limits | None = None,
    api_key: str | None = None,
    hosts: frozenset[str] | None = None,
    start_text: str | None = None,
    answerers: Sequence[Answerer] | None = None,
) -> Guard:
    """Return the ASGI application of models that are open. start_text: what the page shows first. answerers: who
    computes packs, each one at a time; by default threads of this process."""
    limits = limits or Limits()
    metrics = Metrics()
    batcher = Batcher(limits, metrics, answerers or in_threads("cpu"))

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        batcher.start()
        yield
        await asyncio.to_thread(batcher.close)

    app = FastAPI(
        title="spanwise",
        version=version("spanwise"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # both load scripts from elsewhere; /openapi.json is what programs read
        redoc_url=None,
    )
    tasks = [task for task in ITEMS if any(task in model.pipelines for model in models.values())]
    _add_errors(app, tasks)
    _add_facts(app, models, batcher, metrics, limits, start_text)
    for task in tasks:
        asker = Asker(task, models, batcher, limits, metrics)
        app.post(f"/v1/{task}", summary=task, response_class=Response, responses=RESPONSES)(asker.route())
    guard = Guard(app, batcher=batcher, limits=limits, metrics=metrics, api_key=api_key, hosts=hosts)
    guard.known = frozenset({*tasks, "models"})
    return guard


class Asker:
    """Answers the requests of one task."""

    def __init__(
        self, task: str, models: Mapping[str, ServedModel], batcher: Batcher, limits: Limits, metrics: Metrics
    ) -> None:
        self.task, self._batcher, self._limits, self._metrics = task, batcher, limits, metrics
        self._models = {name: model for name, model in models.items() if task in model.pipelines}

    def route(self) -> Callable[..., Awaitable[Response]]:
        """Return the function of the path; the type of its argument is what the OpenAPI description shows."""
        body_type = body_of(self.task)

        async def ask(body: Any) -> Response:
            return await self.answer(body)

        ask.__annotations__["body"] = body_type
        ask.__defaults__ = (FromBody(),)
        return ask

    async def answer(self, body: Body[Any]) -> Response:
        """Return the answers of a request that was understood. Raises: Refused; SpanwiseError."""
        began = time.monotonic()
        dumped = body.model_dump(exclude_none=True)
        given = dumped["inputs"]
        items = given if isinstance(given, list) else [given]
        check_size(items, self._limits)
        name = body.model if body.model is not None else next(iter(self._models))
        if name not in self._models:
            words = f"no model {name[:80]!r} knows {self.task}; there is {', '.join(self._models)}."
            raise Refused(404, "ModelError", words)
        options = dumped.get("options") or {}
        if self.task == "fill-mask":
            pipeline = cast(FillMaskPipeline, self._models[name].pipeline(self.task))
            check_blanks(items, pipeline.mask_token, options, self._limits)
        jobs = self._jobs(self._models[name], items, options)
        try:
            self._batcher.put(jobs)
        except QueueFullError as error:
            raise busy(error) from error
        except StoppingError:
            raise stopping() from None
        answers = await self._waited([job.future for job in jobs])
        self._metrics.observe("spanwise_request_seconds", time.monotonic() - began, task=self.task)
        found = answers if isinstance(given, list) else answers[0]
        return _json({"model": name, "answers": found})

    def _jobs(self, model: ServedModel, items: list[Any], options: dict[str, Any]) -> list[Job]:
        head = options.pop("head", None)
        pipeline = model.pipeline(self.task, head)
        kind = (id(pipeline), json.dumps(options, sort_keys=True))
        is_alone = self.task == "text-generation"  # what is drawn depends on the place in a call
        loop = asyncio.get_running_loop()
        return [
            Job(
                pipeline=pipeline,
                item=item,
                options=options,
                texts=tuple(texts_of(item)),
                kind=None if is_alone or (isinstance(item, dict) and "documents" in item) else kind,
                future=loop.create_future(),
                loop=loop,
            )
            for item in items
        ]

    async def _waited(self, futures: list[asyncio.Future]) -> list[object]:
        """Return all answers. Raises: Refused after the deadline; the first error."""
        if not futures:
            return []
        await asyncio.wait(futures, timeout=self._limits.deadline)
        late = [future for future in futures if not future.done()]
        for future in late:
            future.cancel()
        if late:
            words = f"no answer within {self._limits.deadline:g} s; the server is busy, or the text is long."
            raise Refused(504, "DeadlineError", words)
        errors = [future.exception() for future in futures]  # all are looked at, or asyncio logs the others
        for number, error in enumerate(errors):
            if isinstance(error, SpanwiseError) and len(futures) > 1:
                raise type(error)(f"input {number}: {str(error).removeprefix('input 0: ')}")  # each was asked alone
            if error is not None:
                raise error
        return [future.result() for future in futures]


def _plain(value: object) -> object:
    """Return what JSON has no form for as what it has."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} in an answer")


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(value, ensure_ascii=False, default=_plain, separators=(",", ":"))
    return Response(text.encode(errors="replace"), status, headers, "application/json")


def _add_errors(app: FastAPI, tasks: Sequence[str]) -> None:
    @app.exception_handler(RequestValidationError)
    async def not_understood(request: Request, error: RequestValidationError) -> Response:
        words = sentence(error.errors(), error.body, request.url.path.rpartition("/")[2])
        return _json(error_body("InputError", words[:600]), 422)

    @app.exception_handler(SpanwiseError)
    async def refused_by_model(request: Request, error: SpanwiseError) -> Response:
        return _json(error_body(type(error).__name__, str(error)), 422)

    @app.exception_handler(WorkerLostError)
    async def lost(request: Request, error: WorkerLostError) -> Response:
        body = error_body("WorkerLostError", f"{error}; ask again, or with less text.")
        return _json(body, 503, {"retry-after": "1"})

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return _json(error_body(error.kind, str(error)), error.status, error.headers)

    @app.exception_handler(HTTPException)
    async def no_path(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # the body could not be read as JSON, and not for a place that can be named
            words = "the body is not UTF-8, or is nested too deeply."
            return _json(error_body("BodyError", words), 400)
        path, wanted = request.url.path[:80], (error.headers or {}).get("Allow")
        words = f"{path}: {error.detail}; there is /v1/models, and /v1/TASK for {', '.join(tasks)}."
        if wanted is not None:
            words = f"{path} takes {wanted}; {request.method[:20]} came."
        return _json(error_body("PathError", words), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return _json(error_body("InternalError", "the server failed at this request; its log says why."), 500)


def _add_facts(
    app: FastAPI,
    models: Mapping[str, ServedModel],
    batcher: Batcher,
    metrics: Metrics,
    limits: Limits,
    start_text: str | None,
) -> None:
    @app.get("/health", summary="Is the process alive?", response_class=Response)
    async def health() -> Response:
        return _json({"status": "alive"})

    @app.get("/ready", summary="Are requests taken?", response_class=Response)
    async def ready() -> Response:
        return _json({"ready": not batcher.is_stopping}, 503 if batcher.is_stopping else 200)

    @app.get("/metrics", summary="Counters for Prometheus.", response_class=Response)
    async def counters() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    described = [model.described() for model in models.values()]
    most = {"inputs": limits.inputs, "text": limits.text, "documents": limits.documents, "request": limits.request}

    @app.get("/v1/models", summary="The models and what each can do.", response_class=Response)
    async def list_models() -> Response:
        return _json({"models": described, "limits": most, "start": start_text})

    page = {
        path: ((files("spanwise.serving") / "page" / name).read_bytes(), kind) for path, (name, kind) in PAGE.items()
    }

    def add(path: str) -> None:
        content, kind = page[path]

        @app.get(f"/{path}", include_in_schema=False, response_class=Response)
        async def part() -> Response:
            return Response(content, headers=SAFE, media_type=kind)

    for path in page:
        add(path)
