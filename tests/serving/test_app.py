"""The paths of the server: what each task answers, and how errors look."""

import json
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

import spanwise
from spanwise.client import Client, ServerError

from .conftest import serving

LONG = {"inputs": ["Ada met Bob.", "Ada met Bob. " * 400], "options": {"on_overflow": "error"}}
TEXT = "Marie Jones was born in Boston. Her father, Thomas, built bridges. In 1884 she moved to Paris."


def get(running, path: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(running.address + path, timeout=30) as answer:
        return answer.status, answer.read()


def bodies() -> list[tuple[str, object]]:
    texts = [f"{TEXT} She had {n} friends and {'many ' * (n % 7)}books." for n in range(4)]
    asked = [("question-answering", {"question": "Where was Marie born?", "context": text}) for text in texts]
    asked += [("token-classification", text) for text in texts] + [("coreference", text) for text in texts[:3]]
    asked += [("fill-mask", f"{text} She [MASK] in [MASK].") for text in texts[:2]] + [("fill-mask", f"[MASK] {TEXT}")]
    return [*asked, ("span-embedding", {"text": TEXT, "spans": [[0, 11], [24, 30]]})]


def test_answers_are_those_of_the_pipelines(running):
    client, context = Client(running.address), {"question": "Where was Marie born?", "context": TEXT}
    for task, item in (
        ("question-answering", context),
        ("token-classification", TEXT),
        ("coreference", TEXT),
        ("fill-mask", "Paris is the [MASK]."),
    ):
        ours = spanwise.pipeline(task, precision="fp32")(item)
        theirs = client.ask(task, item)
        assert shape(theirs) == shape(ours)


def shape(value: object) -> object:
    """The same value with numbers rounded: a pack of another shape may round otherwise."""
    if isinstance(value, dict):
        return {name: shape(v) for name, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value]
    return round(value, 4) if isinstance(value, float) else value


def test_an_answer_is_the_same_bytes_alone_and_in_any_company(running):
    asked = bodies()

    def ask(number: int) -> bytes:
        task, item = asked[number]
        body = json.dumps({"inputs": item}).encode()
        request = urllib.request.Request(f"{running.address}/v1/{task}", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    alone = [ask(number) for number in range(len(asked))]
    for seed in range(1):
        order = random.Random(seed).sample(range(len(asked)), len(asked))
        with ThreadPoolExecutor(12) as pool:
            assert [alone[number] for number in order] == list(pool.map(ask, order))


def test_no_input_has_no_answer(running):
    assert Client(running.address).ask("coreference", []) == []


def test_many_documents_are_searched_together(running):
    found = Client(running.address).ask(
        "question-answering", {"question": "Who built bridges?", "documents": ["It rained.", TEXT]}, {"top_k": 2}
    )
    assert {"document", "answer", "score"} <= set(found[0])
    assert next(one["document"] for one in found if one["answer"]) == 1


def test_context_and_borders_guess_apart(running):
    client = Client(running.address)
    context = client.ask("fill-mask", "Paris is the [MASK] of France.", {"head": "mlm"})
    borders = client.ask("fill-mask", "Paris is the [MASK] of France.", {"head": "sbo"})
    assert context[0]["score"] != borders[0]["score"]


@pytest.mark.parametrize(
    "task, body, status, words",
    [
        ("question-answering", {"inputs": {"question": "Why?"}}, 422, "inputs.context is missing"),
        ("question-answering", {"inputs": {"question": "Why?", "context": ""}}, 422, "'context' is empty"),
        ("question-answering", {"inputs": [{"question": "a", "context": "b"}], "options": {"top_k": 0}}, 422, "top_k"),
        ("question-answering", {"inputs": [], "options": {"tok_k": 1}}, 422, "options.tok_k is unknown.*top_k"),
        ("coreference", {"inputs": "A b.", "model": "other"}, 404, "no model 'other' knows coreference"),
        ("coreference", {"inputs": "x" * 20_001}, 422, "20,001 characters; at most 20,000"),
        ("coreference", {"inputs": ["Ada."] * 9}, 422, "at most 8 go into one request"),
        ("token-classification", {"inputs": ["Ada met Bob.", " "]}, 422, "input 1: .*empty"),
        ("fill-mask", {"inputs": "No blank."}, 422, r"no \[MASK\]"),
        ("fill-mask", {"inputs": "[MASK] a " * 600}, 422, r"600 \[MASK\]; at most 512 are taken"),
        ("token-classification", LONG, 422, "(?<!input 0: )input 1: (?!input)"),
        ("span-embedding", {"inputs": {"text": "Ada", "spans": [[0, 9]]}}, 422, "outside"),
        ("relation-extraction", {"inputs": {}}, 404, "Not Found; .*/v1/TASK for .*coreference"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(running, task, body, status, words):
    with pytest.raises(ServerError, match=words) as caught:
        Client(running.address)._asked("POST", f"/v1/{task}", body)
    assert caught.value.status == status and "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "body", ['{"inputs": "한국어"}'.encode("cp949"), b"[" * 20_000 + b"]" * 20_000], ids=["CP949", "nested"]
)
def test_a_body_that_cannot_be_read_as_json_is_told_so(running, body):
    head = "POST /v1/coreference HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    top, _, content = running.raw(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body).partition(b"\r\n\r\n")
    error = json.loads(content)["error"]
    assert b" 400 " in top.split(b"\r\n")[0] and error["type"] == "BodyError"
    assert error["message"] == "the body is not UTF-8, or is nested too deeply."


def test_a_path_that_takes_another_method_names_it(running):
    status, *_, body = running.raw(b"GET /v1/coreference HTTP/1.0\r\nhost: localhost\r\n\r\n").split(b"\r\n")
    assert b" 405 " in status and b"/v1/coreference takes POST; GET came." in body


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/models", "/"])
def test_head_is_told_what_get_is_without_the_body(running, path):
    said = running.raw(f"HEAD {path} HTTP/1.0\r\nhost: localhost\r\n\r\n".encode())
    fields, _, body = said.partition(b"\r\n\r\n")
    assert b" 200 " in fields.split(b"\r\n")[0] and body == b""
    wanted = running.raw(f"GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n".encode()).partition(b"\r\n\r\n")[0]
    assert [line for line in fields.split(b"\r\n") if b"content" in line] == [
        line for line in wanted.split(b"\r\n") if b"content" in line
    ]


def test_texts_are_never_read_as_names_of_files_or_addresses(running):
    for text in ("/etc/passwd", "http://127.0.0.1:1/x", "file:///etc/hostname"):
        assert Client(running.address).ask("token-classification", text)["num_windows"] == 1


def test_health_metrics_models_and_description(running):
    assert json.loads(get(running, "/health")[1]) == {"status": "alive"}
    assert json.loads(get(running, "/ready")[1]) == {"ready": True}
    (model,) = Client(running.address).models()
    assert model["heads"] == ["mlm", "sbo"] and model["mask"] == "[MASK]"
    paths = json.loads(get(running, "/openapi.json")[1])["paths"]
    assert {f"/v1/{task}" for task in model["tasks"]} < set(paths)
    told = paths["/v1/coreference"]["post"]["responses"]
    forms = {status: response["content"]["application/json"]["schema"]["$ref"] for status, response in told.items()}
    assert forms.pop("200").endswith("/Answers")
    assert {form.rpartition("/")[2] for form in forms.values()} == {"ErrorAnswer"}
    assert b"spanwise_inputs_total" in get(running, "/metrics")[1]


def test_the_page_loads_nothing_from_elsewhere(running):
    page = b"".join(get(running, path)[1] for path in ("/", "/page.css", "/words.js", "/draw.js", "/page.js"))
    addresses = [part[:40] for part in page.split(b"http")[1:]]
    assert addresses == [b'://www.w3.org/2000/svg";\n  const picture'[:40]]


def test_hostile_bodies_end_in_an_answer_of_the_400s(running):
    draw = random.Random(3)
    for _ in range(60):
        data = bytearray(json.dumps({"inputs": {"question": "Who?", "context": "Ada \ud800"}}).encode())
        for _ in range(draw.randrange(4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        head = f"POST /v1/question-answering HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n"
        head += "content-type: application/json\r\nconnection: close\r\n\r\n"
        status = int(running.raw(head.encode() + bytes(data)).split(b" ", 2)[1])
        assert status == 200 or 400 <= status < 500


def test_relations_are_those_of_the_pipeline(related):
    item = {"text": "Ada met Bob in Paris.", "subject": [0, 3], "object": {"start": 8, "end": 11, "type": "PER"}}
    with serving(related) as running:
        client = Client(running.address)
        found = client.ask("relation-extraction", [item, {**item, "object": [15, 20]}])
        assert client.models()[0]["tasks"] == ["token-classification", "relation-extraction"]
        with pytest.raises(ServerError, match="outside"):
            client.ask("relation-extraction", {**item, "subject": [0, 99]})
    pipeline = related["both"].pipelines["relation-extraction"]
    assert shape(found[0]) == shape(pipeline(item)) and found[0]["label"] in ("met", "met_by")
    assert found[1]["object"]["text"] == "Paris"


def test_a_writer_writes_on_and_what_it_draws_depends_on_the_seed_alone(writer):
    drawn = {"do_sample": True, "seed": 3, "max_new_tokens": 6}
    with serving(writer) as running:
        write = Client(running.address).pipeline("text-generation")
        assert Client(running.address).models()[0]["tasks"] == ["text-generation"]
        alone = write("The old river", **drawn)
        many = write(["In winter", "The old river", "The old river"], **drawn)
        greedy = write("The old river", max_new_tokens=6)
        with pytest.raises(ServerError, match="max_new_tokens"):
            write("The old river", max_new_tokens=5000)
    assert many[1] == many[2] == alone and alone["num_tokens"] == 6
    assert greedy == writer["gpt"].pipelines["text-generation"]("The old river", max_new_tokens=6)
