"""Load on a server, abuse of it, and what must stay true under both: `python benchmarks/serving.py CHECK`.

| check | goal |
|---|---|
| throughput | 3 x a plain endpoint that answers one by one, 1.5 x one that batches by padding, of the same encoder |
| overload | at 4 x the peak, 90 % of the peak is answered, and refusals come within 50 ms (99th percentile) |
| abuse | 200 slow, 200 oversized and broken clients beside 4 good ones: under 64 MB more, p99 at most doubled |
| fuzz | 10,000 broken bodies, no status of 500 and above |
| identical | every answer byte for byte the same alone and in random company, in fp32, bf16 and int8 |
| stop | no request that was accepted is lost when the server is told to stop under load |

Everything runs on 127.0.0.1, with spanwise-mini; the clients (serving_load.py) take part of the same processor. The
peers run the same encoder in transformers, float32, and need torch, transformers, FastAPI and uvicorn alone. Prints
what was found beside each goal; the exit status is 1 where a goal is missed.
"""

import argparse
import asyncio
import contextlib
import copy
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from serving_load import HOST, Connection, Load, all_of, asking, closed_loop, open_loop, request

from spanwise.quickstart.bundle import open_bundle
from spanwise.text.corpus import read_documents

PORT = 8765
CLIENTS = 48
ROUNDS = 3  # of each arm of a comparison, in turn
QUESTIONS = "question-answering"


def passages(count: int) -> list[dict[str, str]]:
    """Questions about different passages of about 60 words from the text of the quickstart."""
    with open_bundle() as bundle:
        words = " ".join(s for d in read_documents([bundle.valid_text]) for s in d.sentences).split()
    starts = random.Random(0).sample(range(len(words) - 80), count)
    return [{"question": "Who came to the house?", "context": " ".join(words[a : a + 40 + a % 40])} for a in starts]


def questions(count: int) -> list[bytes]:
    """Return requests for the answers to `passages`."""
    return [asking(QUESTIONS, item) for item in passages(count)]


@contextlib.contextmanager
def server(port: int, *command: str) -> Iterator[subprocess.Popen]:
    """Start a server and wait until it answers; it is killed in the end."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=5):
                break
            assert process.poll() is None, f"{command} ended"
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def ours(*options: str, port: int = PORT) -> contextlib.AbstractContextManager[subprocess.Popen]:
    return server(port, "-m", "spanwise", "serve", "--port", str(port), *options)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


def milliseconds(times: list[float]) -> dict[str, float]:
    return {"p50_ms": 1000 * percentile(times, 0.5), "p99_ms": 1000 * percentile(times, 0.99)}


def goal(found: float, kind: str, wanted: float) -> dict[str, object]:
    """Return a figure beside its goal; kind: "at least" or "at most"."""
    return {
        "found": found,
        "goal": f"{kind} {wanted:g}",
        "met": found >= wanted if kind == "at least" else found <= wanted,
    }


def throughput(seconds: float) -> dict[str, object]:
    """All servers are up, and are asked in turn, so that what else the machine does meets all alike."""
    asked, me = questions(2000), str(Path(__file__))
    arms = {"plain": (me, "--peer", "plain"), "padded": (me, "--peer", "padded")}
    arms |= {p: ("-m", "spanwise", "serve", "--precision", p) for p in ("fp32", "bf16", "int8")}
    loads: dict[str, Load] = {name: Load() for name in arms}
    alone: dict[str, Load] = {}
    with contextlib.ExitStack() as stack:
        for port, command in enumerate(arms.values(), PORT):
            stack.enter_context(server(port, *command, "--port", str(port)))
            asyncio.run(closed_loop(port, asked, 3, CLIENTS))  # kernels are made
        for _ in range(ROUNDS):
            for port, name in enumerate(arms, PORT):
                loads[name] += asyncio.run(closed_loop(port, asked, seconds / ROUNDS, CLIENTS))
        for port, name in enumerate(arms, PORT):
            alone[name] = asyncio.run(closed_loop(port, asked, 3, 1))
    best = max(loads[p].rate for p in ("fp32", "bf16", "int8"))
    return {
        "best_over_plain": goal(best / loads["plain"].rate, "at least", 3),
        "best_over_padded": goal(best / loads["padded"].rate, "at least", 1.5),
        "answers": {name: {"per_second": load.rate, **milliseconds(load.answered)} for name, load in loads.items()},
        "one_client": {name: milliseconds(load.answered) for name, load in alone.items()},
    }


@contextlib.contextmanager
def on_cores(cores: list[int]) -> Iterator[None]:
    """Run this thread, and what it starts here, on these cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def overload(seconds: float) -> dict[str, object]:
    """Server and clients on cores of their own, as on two machines, which is what the goals are for; and on all cores
    together, where whatever the clients take is lost to the server."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    apart = overloaded(seconds, cores[:half] or cores, cores[half:])
    together = overloaded(seconds, cores, cores)
    found, refused = apart["found"], apart["found"].refused
    return {
        "goodput_over_peak": goal(apart["ratio"], "at least", 0.9),
        "refused_p99_ms": goal(1000 * percentile(refused or [0.0], 0.99), "at most", 50),
        "other": goal(found.others + together["found"].others, "at most", 0),
        "apart": said_of(apart),
        "together": said_of(together),
    }


def overloaded(seconds: float, of_server: list[int], of_clients: list[int]) -> dict[str, Any]:
    """The peak and the overload are measured in turn, so that both meet the machine as it is then."""
    asked = questions(2000)
    peaks, ratios, found = [], [], Load()
    with contextlib.ExitStack() as stack:
        with on_cores(of_server):
            stack.enter_context(ours())
        stack.enter_context(on_cores(of_clients))
        asyncio.run(closed_loop(PORT, asked, 3, CLIENTS))
        for _ in range(ROUNDS):
            peaks.append(asyncio.run(closed_loop(PORT, asked, seconds, CLIENTS)).rate)
            loaded = open_loop(PORT, asked, 4 * peaks[-1], seconds)
            ratios.append(loaded.rate / peaks[-1])
            found += loaded
    return {"found": found, "ratio": statistics.median(ratios), "peaks": peaks, "ratios": ratios}


def said_of(measured: dict[str, Any]) -> dict[str, object]:
    found = measured["found"]
    return {
        "peaks": measured["peaks"],
        "goodputs_over_peaks": measured["ratios"],
        "answered": len(found.answered),
        "refused": len(found.refused),
        "answers": milliseconds(found.answered),
        "refusals": milliseconds(found.refused),
    }


def memory_mb(pid: int) -> float:
    """Return the memory of a process and all that it forked; a page that several share counts once."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    forked = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own / 1024 + sum(memory_mb(int(child)) for child in forked)


async def bad_clients(counts: dict[str, int]) -> None:
    """200 clients that send a byte now and then, 200 that send too much, 8 whose bodies are broken; until killed."""

    async def sent(kind: str, data: bytes, seconds: float, drops: int = 0) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(HOST, PORT)
            counts[kind] += 1
            writer.write(data)
            for _ in range(drops):
                if writer.is_closing():
                    break
                writer.write(b"{")
                await asyncio.sleep(0.5)
            await asyncio.wait_for(reader.read(), seconds)
            writer.close()

    def announced(size: int) -> bytes:
        return request("coreference", b"").replace(b"content-length: 0", b"content-length: %d" % size)

    async def client(kind: str) -> None:
        while True:
            if kind == "slow":
                await sent(kind, announced(900), 0.2, drops=40)
            elif kind == "oversized":
                await sent(kind, announced(900_000_000) + b"x" * 100_000, 2)
                await asyncio.sleep(2)
            else:
                await sent(kind, random.randbytes(200) + b"\r\n\r\n", 1)
                await asyncio.sleep(0.2)

    numbers = {"slow": 200, "oversized": 200, "broken": 8}
    tasks = [asyncio.create_task(client(kind)) for kind, number in numbers.items() for _ in range(number)]
    await asyncio.to_thread(sys.stdin.read)  # until the parent closes it
    for task in tasks:
        task.cancel()


def abuse(seconds: float) -> dict[str, object]:
    """The bad clients are a process of their own, which waits for the good ones where both want a core."""
    asked = questions(2000)
    with ours() as process:
        asyncio.run(closed_loop(PORT, asked, 3, 4))
        quiet = asyncio.run(closed_loop(PORT, asked, seconds, 4))
        before = memory_mb(process.pid)
        pipe = subprocess.PIPE
        bad = subprocess.Popen(["nice", "-n", "5", sys.executable, __file__, "--bad"], stdin=pipe, stdout=pipe)
        time.sleep(3)
        loud = asyncio.run(closed_loop(PORT, asked, seconds, 4))
        growth, is_alive = memory_mb(process.pid) - before, process.poll() is None
        counts = json.loads(bad.communicate()[0])
    return {
        "alive": goal(is_alive, "at least", 1),
        "growth_mb": goal(growth, "at most", 64),
        "p99_over_quiet": goal(percentile(loud.answered, 0.99) / percentile(quiet.answered, 0.99), "at most", 2),
        "quiet": milliseconds(quiet.answered),
        "beside_bad_clients": milliseconds(loud.answered),
        **counts,
    }


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

    asked = [request(draw.choice(paths), body()) for _ in range(count)]
    with ours() as process:
        answers = asyncio.run(all_of(PORT, asked, 16))
        is_alive = process.poll() is None
    counts: dict[int, int] = {}
    for status, _ in answers:
        counts[status] = counts.get(status, 0) + 1
    return {
        "alive": goal(is_alive, "at least", 1),
        "5xx": goal(sum(n for status, n in counts.items() if status >= 500), "at most", 0),
        "bodies": count,
        "statuses": counts,
    }


def identical(count: int, batchings: int, precisions: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    asked = [asking(QUESTIONS, item) for item in passages(count // 2)]
    texts = [item["context"] for item in passages(count)[count // 2 :]]
    kinds = ["token-classification", "coreference", "fill-mask"]
    asked += [asking(kinds[n % 3], text + " She saw the [MASK] house.") for n, text in enumerate(texts)]
    for precision in precisions:
        began = time.monotonic()
        with ours("--precision", precision, "--waiting", "4096", "--deadline", "600"):
            alone = asyncio.run(all_of(PORT, asked, 1))
            different = 0
            for number in range(batchings):
                draw = random.Random(number)
                order = draw.sample(range(len(asked)), len(asked))
                got = asyncio.run(all_of(PORT, [asked[k] for k in order], draw.choice([4, 16, 64])))
                different += sum(answer != alone[k] for k, answer in zip(order, got, strict=True))
                minutes = (time.monotonic() - began) / 60
                print(f"{precision}: {number + 1} of {batchings}, {minutes:.1f} min", file=sys.stderr)
        failed = sum(status != 200 for status, _ in alone)
        found[f"{precision}_different"] = goal(different, "at most", 0)
        found[f"{precision}_failed"] = goal(failed, "at most", 0)
    return {**found, "requests": len(asked), "batchings": batchings}


async def until_closed(asked: list[bytes], counts: dict[str, int], told: list[float]) -> None:
    """Ask with CLIENTS connections until each is closed; a request from before `told` without answer is lost."""
    loop = asyncio.get_running_loop()

    async def client(number: int) -> None:
        _, connection = await loop.create_connection(Connection, HOST, PORT)
        for place in range(number, 10**6, CLIENTS):
            sent = time.monotonic()
            if connection.transport is None:
                return
            try:
                status, _, _ = await connection.ask(asked[place % len(asked)])
            except OSError:
                counts["lost"] += sent < told[0] - 0.05  # it lay in the server's hands
                return
            counts["answered"] += status == 200
            counts["refused"] += status in (429, 503)

    await asyncio.gather(*map(client, range(CLIENTS)))


def stop(seconds: float) -> dict[str, object]:
    told = [float("inf")]
    counts = {"lost": 0, "answered": 0, "refused": 0}
    with ours() as process:
        thread = threading.Thread(target=lambda: asyncio.run(until_closed(questions(500), counts, told)))
        thread.start()
        time.sleep(seconds)
        told[0] = time.monotonic()
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        took = time.monotonic() - told[0]
        thread.join()
    return {
        "lost": goal(counts.pop("lost"), "at most", 0),
        "exit_status": goal(status, "at most", 0),
        "seconds": took,
        **counts,
    }


def peer(kind: str, port: int) -> None:
    """A usual endpoint of the same encoder, one by one or in batches of 16 padded to the longest. Its answers cost the
    same and mean nothing, as transformers has no place for the head and the marks of shared words."""
    import tempfile

    import torch
    import uvicorn
    from fastapi import FastAPI, Request
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    from spanwise.interop.convert import convert
    from spanwise.interop.sources import find_folder

    with tempfile.TemporaryDirectory() as folder:
        encoder = convert(find_folder("spanwise-mini"), folder + "/encoder").target
        model = AutoModelForQuestionAnswering.from_pretrained(encoder).float().eval()
        tokenizer = AutoTokenizer.from_pretrained(encoder)
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

    uvicorn.run(app, port=port, log_level="warning")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checks = ["throughput", "overload", "abuse", "fuzz", "identical", "stop"]
    parser.add_argument("check", nargs="?", choices=checks)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--requests", type=int, default=0, help="default: 10,000 of fuzz, 2,000 of identical")
    parser.add_argument("--batchings", type=int, default=20)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16", "int8"], help="of identical")
    parser.add_argument("--peer", choices=["plain", "padded"], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=PORT, help=argparse.SUPPRESS)
    parser.add_argument("--bad", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if given.peer:
        peer(given.peer, given.port)
        return 0
    if given.bad:
        counts = {"slow": 0, "oversized": 0, "broken": 0}
        asyncio.run(bad_clients(counts))
        print(json.dumps(counts))
        return 0
    began = time.monotonic()
    if given.check == "fuzz":
        found = fuzz(given.requests or 10_000)
    elif given.check == "identical":
        found = identical(given.requests or 2_000, given.batchings, given.precisions)
    else:
        timed = {"throughput": throughput, "overload": overload, "abuse": abuse, "stop": stop}
        if given.check not in timed:
            parser.error("name a check")
        found = timed[given.check](given.seconds)
    facts = {"check": given.check, "load_average": os.getloadavg()[0], "minutes": (time.monotonic() - began) / 60}
    print(json.dumps({**facts, **found}, indent=1, default=float))
    return int(not all(value["met"] for value in found.values() if isinstance(value, dict) and "met" in value))


if __name__ == "__main__":
    sys.exit(main())
