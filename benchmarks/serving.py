"""Load on a server, abuse of it, and what must stay true under both: `python benchmarks/serving.py CHECK`.

| check | goal |
|---|---|
| throughput | 3 x a plain endpoint that answers one by one, 1.5 x one that batches by padding, of the same model |
| overload | at 4 x the peak, 90 % of the peak is answered, and refusals come within 50 ms (99th percentile) |
| abuse | 200 slow, 200 oversized and broken clients beside 4 good ones: under 64 MB more, p99 at most doubled |
| fuzz | 10,000 broken bodies, no status of 500 and above |
| identical | every answer byte for byte the same alone and in random company, in fp32, bf16 and int8 |
| stop | no request that was accepted is lost when the server is told to stop under load |

Everything runs on 127.0.0.1, with spanwise-mini; the clients take part of the same processor. The peers run the same
weights in transformers, float32, and need torch, transformers, FastAPI and uvicorn alone.
"""

import argparse
import asyncio
import contextlib
import copy
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from spanwise.quickstart.bundle import open_bundle
from spanwise.text.corpus import read_documents

PORT = 8765
CLIENTS = 48
HEADERS = {"content-type": "application/json"}


def head(task: str, size: int) -> bytes:
    """Return the header of a request."""
    lines = [f"POST /v1/{task} HTTP/1.1", "host: localhost", "content-type: application/json"]
    return "\r\n".join([*lines, f"content-length: {size}", "", ""]).encode()


def passages(count: int) -> list[dict[str, str]]:
    """Questions about different passages of about 60 words from the text of the quickstart."""
    with open_bundle() as bundle:
        words = " ".join(s for d in read_documents([bundle.valid_text]) for s in d.sentences).split()
    starts = random.Random(0).sample(range(len(words) - 80), count)
    return [{"question": "Who came to the house?", "context": " ".join(words[a : a + 40 + a % 40])} for a in starts]


@contextlib.contextmanager
def server(*command: str) -> Iterator[subprocess.Popen]:
    """Start a server and wait until it answers; it is killed in the end."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                post("/health", None)
                break
            assert process.poll() is None, f"{command} ended"
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def ours(*options: str) -> contextlib.AbstractContextManager[subprocess.Popen]:
    return server("-m", "spanwise", "serve", "--port", str(PORT), *options)


def post(path: str, body: object, connection: HTTPConnection | None = None) -> tuple[int, bytes]:
    """Ask once; the body is a value, or bytes as they are."""
    own = connection or HTTPConnection("127.0.0.1", PORT, timeout=120)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    own.request("GET" if data is None else "POST", path, data, HEADERS)
    answer = own.getresponse()
    content = answer.read()
    if connection is None:
        own.close()
    return answer.status, content


def closed_loop(bodies: list[dict], seconds: float, clients: int = CLIENTS) -> tuple[float, list[float]]:
    """Let each client ask again as soon as it is answered; return answers a second, and times in seconds."""
    times: list[float] = []
    begin = time.monotonic()
    end = begin + seconds

    def run(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
        place = number
        while time.monotonic() < end:
            began = time.monotonic()
            status, _ = post("/v1/question-answering", {"inputs": bodies[place % len(bodies)]}, connection)
            place += clients
            if status == 200:
                times.append(time.monotonic() - began)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(run, range(clients)))
    return len(times) / (time.monotonic() - begin), times


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


def throughput(seconds: float) -> dict[str, object]:
    bodies, found = passages(2000), {}
    me = str(Path(__file__))
    arms = {"plain": (me, "--peer", "plain"), "padded": (me, "--peer", "padded")}
    arms |= {p: ("-m", "spanwise", "serve", "--port", str(PORT), "--precision", p) for p in ("fp32", "bf16", "int8")}
    for name, command in arms.items():
        with server(*command):
            closed_loop(bodies, 3)  # kernels are made
            rate, times = closed_loop(bodies, seconds)
            found[name] = {"per_second": rate, "p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
    best = max(found[p]["per_second"] for p in ("fp32", "bf16", "int8"))
    ratios = {peer: best / found[peer]["per_second"] for peer in ("plain", "padded")}
    return {**found, "best_over_plain": ratios["plain"], "best_over_padded": ratios["padded"]}


def overload(seconds: float) -> dict[str, object]:
    bodies = passages(2000)
    with ours():
        closed_loop(bodies, 3)
        peak, _ = closed_loop(bodies, seconds)
        answered, refused, others = asyncio.run(open_loop(bodies, 4 * peak, seconds))
    span = seconds + (max(a for a, _ in answered) if answered else 0)
    return {
        "peak": peak,
        "offered": 4 * peak,
        "goodput": len(answered) / max(1e-9, span),
        "goodput_over_peak": len(answered) / max(1e-9, span) / peak,
        "refused": len(refused),
        "refused_p99": percentile(refused, 0.99),
        "other": others,
    }


async def open_loop(bodies: list[dict], rate: float, seconds: float) -> tuple[list, list[float], int]:
    """Send at a rate, whatever comes back; return (end after the last sending, time) of answers, times of refusals."""
    loop = asyncio.get_running_loop()
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    answered: list[tuple[float, float]] = []
    refused: list[float] = []
    others = 0
    begin = loop.time()

    async def one(body: dict) -> None:
        nonlocal others
        data = json.dumps({"inputs": body}).encode()
        try:
            reader, writer = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", PORT)
            began = loop.time()
            writer.write(head("question-answering", len(data)) + data)
            top = await reader.readuntil(b"\r\n\r\n")
            size = int(top.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(size)
            took, status = loop.time() - began, int(top.split(b" ", 2)[1])
            if status == 200:
                answered.append((max(0.0, loop.time() - begin - seconds), took))
            elif status == 429:
                refused.append(took)
            else:
                others += 1
            idle.append((reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            others += 1

    tasks = []
    for number in range(int(rate * seconds)):
        wait = begin + number / rate - loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(bodies[number % len(bodies)])))
    await asyncio.gather(*tasks)
    return answered, refused, others


def memory_mb(process: subprocess.Popen) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def bad_clients(stop: threading.Event, counts: dict[str, int]) -> None:
    """200 clients that send a byte now and then, 200 that send too much, 8 whose bodies are broken."""

    async def slow() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", PORT)
                counts["slow"] += 1
                writer.write(head("coreference", 900))
                for _ in range(40):
                    if stop.is_set() or writer.is_closing():
                        break
                    writer.write(b"{")
                    await asyncio.sleep(0.5)
                writer.close()
            await asyncio.sleep(0.2)

    async def oversized() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
                counts["oversized"] += 1
                writer.write(head("coreference", 900000000))
                writer.write(b"x" * 100_000)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(), 2)
                writer.close()
            await asyncio.sleep(2)

    async def broken() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
                counts["broken"] += 1
                writer.write(random.randbytes(200) + b"\r\n\r\n")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(), 1)
                writer.close()
            await asyncio.sleep(0.2)

    await asyncio.gather(*(make() for make, n in ((slow, 200), (oversized, 200), (broken, 8)) for _ in range(n)))


def abuse(seconds: float) -> dict[str, object]:
    bodies = passages(2000)
    with ours() as process:
        closed_loop(bodies, 3, 4)
        _, quiet = closed_loop(bodies, seconds, 4)
        before, stop, counts = memory_mb(process), threading.Event(), {"slow": 0, "oversized": 0, "broken": 0}
        thread = threading.Thread(target=lambda: asyncio.run(bad_clients(stop, counts)))
        thread.start()
        time.sleep(2)
        _, loud = closed_loop(bodies, seconds, 4)
        growth, is_alive = memory_mb(process) - before, process.poll() is None
        stop.set()
        thread.join()
    p99 = {"quiet_p99": percentile(quiet, 0.99), "p99": percentile(loud, 0.99)}
    return {"alive": is_alive, "growth_mb": growth, **p99, "p99_over_quiet": p99["p99"] / p99["quiet_p99"], **counts}


def fuzz(count: int) -> dict[str, object]:
    draw = random.Random(1)
    seeds = [
        {"inputs": {"question": "Who?", "context": "Ada won."}, "options": {"top_k": 2}},
        {"inputs": "A [MASK] b."},
    ]
    seeds += [{"inputs": {"text": "Ada won.", "spans": [[0, 3]]}}, {"inputs": ["Ada won.", "Bob lost."], "model": "x"}]
    odd = [
        None,
        True,
        -1,
        1e308,
        "",
        "\u0000",
        "가",
        "[MASK]" * 9,
        [],
        {},
        [[]],
        {"text": 1},
        "\ud800",
        2**70,
        "x" * 5000,
    ]
    paths = ["question-answering", "token-classification", "coreference", "fill-mask", "span-embedding", "models", "x"]

    def body() -> bytes:
        value = json.loads(json.dumps(draw.choice(seeds)))
        for _ in range(draw.randrange(3)):
            target = draw.choice([value, value["inputs"] if isinstance(value.get("inputs"), dict) else value])
            name = draw.choice([*target, "extra", "options", "inputs", "spans"])
            target[name] = copy.deepcopy(draw.choice(odd))
        data = bytearray(json.dumps(value, ensure_ascii=draw.random() < 0.8).encode(errors="surrogatepass"))
        for _ in range(draw.choice([0, 0, 0, 1, 3])):
            data[draw.randrange(len(data))] = draw.randrange(256)
        return bytes(data[: draw.choice([len(data), len(data), draw.randrange(len(data) + 1)])])

    counts: dict[int, int] = {}
    asked = [(f"/v1/{draw.choice(paths)}", body()) for _ in range(count)]

    def run(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
        for path, data in asked[number::8]:
            status, _ = post(path, data, connection)
            counts[status] = counts.get(status, 0) + 1

    with ours() as process, ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
        is_alive = process.poll() is None
    return {"alive": is_alive, "5xx": sum(n for status, n in counts.items() if status >= 500), "statuses": counts}


def identical(count: int, batchings: int) -> dict[str, object]:
    found = {}
    for precision in ("fp32", "bf16", "int8"):
        asked = [("question-answering", body) for body in passages(count // 2)]
        texts = [body["context"] for body in passages(count)[count // 2 :]]
        kinds = ["token-classification", "coreference", "fill-mask"]
        asked += [(kinds[n % 3], text + " She saw the [MASK] house.") for n, text in enumerate(texts)]
        with ours("--precision", precision, "--waiting", "4096", "--deadline", "600"):
            alone = [post(f"/v1/{task}", {"inputs": item}) for task, item in asked]
            different = 0
            for number in range(batchings):
                order = random.Random(number).sample(range(len(asked)), len(asked))
                with ThreadPoolExecutor(random.Random(number).choice([4, 16, 64])) as pool:
                    paths, inputs = zip(*(asked[k] for k in order), strict=True)
                    got = pool.map(lambda path, item: post(f"/v1/{path}", {"inputs": item}), paths, inputs)
                    different += sum(answer != alone[k] for k, answer in zip(order, got, strict=True))
        failed = sum(status != 200 for status, _ in alone)
        found[precision] = {"requests": count, "batchings": batchings, "different": different, "failed": failed}
    return found


def stop(seconds: float) -> dict[str, object]:
    bodies, told = passages(500), [float("inf")]
    lost, done, refused = [0], [0], [0]

    def run(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
        for place in range(number, 10**6, CLIENTS):
            sent = None
            try:
                connection.request(
                    "POST", "/v1/question-answering", json.dumps({"inputs": bodies[place % 500]}), HEADERS
                )
                sent = time.monotonic()
                status = connection.getresponse()
                status.read()
                done[0] += status.status == 200
                refused[0] += status.status in (429, 503)
            except (OSError, HTTPException):
                lost[0] += sent is not None and sent < told[0] - 0.05  # it lay in the server's hands
                return

    with ours() as process:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        told[0] = time.monotonic()
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        took = time.monotonic() - told[0]
        for thread in threads:
            thread.join()
    return {"answered": done[0], "refused": refused[0], "lost": lost[0], "exit_status": status, "seconds": took}


def peer(kind: str) -> None:
    """A usual endpoint of the same weights: one by one, or batches of 16 padded to the longest."""
    import tempfile

    import torch
    import uvicorn
    from fastapi import FastAPI, Request
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    from spanwise.tasks.checkpoint import convert_task

    with tempfile.TemporaryDirectory() as folder:
        convert_task("spanwise-mini", "qa", folder + "/qa")
        model = AutoModelForQuestionAnswering.from_pretrained(folder + "/qa").float().eval()
        tokenizer = AutoTokenizer.from_pretrained(folder + "/qa")
    app, lock = FastAPI(), threading.Lock()
    waiting: list = []
    working: list[bool] = []
    app.get("/health")(lambda: {})

    def answers(items: list[dict]) -> list[dict]:
        pairs = [item["question"] for item in items], [item["context"] for item in items]
        encoded = tokenizer(*pairs, return_tensors="pt", padding=True, truncation=True, return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")
        with torch.inference_mode():
            out = model(**encoded)
        starts, ends = out.start_logits.softmax(-1), out.end_logits.softmax(-1)
        found = []
        for k, item in enumerate(items):
            scores = torch.triu(starts[k][:, None] * ends[k][None], 0).tril(15)
            a, b = divmod(int(scores.argmax()), scores.shape[1])
            span = int(offsets[k][a][0]), int(offsets[k][b][1])
            found.append({"score": float(scores.max()), "answer": item["context"][span[0] : span[1]]})
        return found

    if kind == "plain":

        @app.post("/v1/question-answering")
        def one(body: dict) -> dict:
            with lock:
                return answers([body["inputs"]])[0]
    else:

        @app.post("/v1/question-answering")
        async def padded(request: Request) -> dict:
            body, future = await request.json(), asyncio.get_running_loop().create_future()
            waiting.append((body["inputs"], future))
            if not working:
                working.append(True)
                asyncio.get_running_loop().create_task(work())
            return await future

        async def work() -> None:
            await asyncio.sleep(0.005)
            while waiting:
                batch = waiting[:16]
                found = await asyncio.to_thread(answers, [item for item, _ in batch])
                del waiting[:16]
                for (_, future), answer in zip(batch, found, strict=True):
                    future.set_result(answer)
            working.clear()

    uvicorn.run(app, port=PORT, log_level="warning")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checks = ["throughput", "overload", "abuse", "fuzz", "identical", "stop"]
    parser.add_argument("check", nargs="?", choices=checks)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--requests", type=int, default=0, help="default: 10,000 of fuzz, 2,000 of identical")
    parser.add_argument("--batchings", type=int, default=20)
    parser.add_argument("--peer", choices=["plain", "padded"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if given.peer:
        return peer(given.peer)
    if given.check == "fuzz":
        found = fuzz(given.requests or 10_000)
    elif given.check == "identical":
        found = identical(given.requests or 2_000, given.batchings)
    else:
        timed = {"throughput": throughput, "overload": overload, "abuse": abuse, "stop": stop}
        if given.check not in timed:
            parser.error("name a check")
        found = timed[given.check](given.seconds)
    print(json.dumps({"check": given.check, "load_average": os.getloadavg()[0], **found}, indent=1, default=float))


if __name__ == "__main__":
    main()
